// Grids of a fleet as files, for tests.
#pragma once

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QString>
#include <limits>
#include <vector>

namespace memprof::viewer::testing {

struct FileRank {
  int rank, stage;  // < 0: not known
  double distance;
  int typical;  // < 0: none
  QString log;
  std::vector<double> values;
};

inline constexpr double kNoStep = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kMiBytes = 1 << 20;

// Of job "4711", with steps from 10.
inline QJsonObject FleetHead(const std::vector<FileRank>& ranks, int columns) {
  const auto known = [](int number) { return number < 0 ? QJsonValue() : QJsonValue(number); };
  const auto text = [](const char* words) { return QString::fromUtf8(words); };
  QJsonArray rows;
  for (const FileRank& rank : ranks)
    rows.append(QJsonObject{{text("rank"), known(rank.rank)},
                            {text("stage"), known(rank.stage)},
                            {text("host"), QStringLiteral("node%1").arg(rank.rank / 4)},
                            {text("device"), 0},
                            {text("log"), rank.log},
                            {text("run"), QString(32, QLatin1Char('0'))},
                            {text("distance"), rank.distance},
                            {text("typical"), known(rank.typical)}});
  const auto job = [&](const char* name, int attempt) {
    return QJsonObject{{text("job"), text(name)},
                       {text("attempt"), attempt},
                       {text("day"), text("2026-11-26")},
                       {text("ranks"), rows.size()},
                       {text("steps"), columns}};
  };
  return {{text("grid"), 1},
          {text("job"), text("4711")},
          {text("attempt"), 1},
          {text("figure"), text("allocated_peak")},
          {text("unit"), text("bytes")},
          {text("jobs"), QJsonArray{job("4711", 1), job("4711", 0), job("old", 0)}},
          {text("figures"), QJsonArray{text("allocated_peak"), text("peak"), text("duration")}},
          {text("first_step"), 10},
          {text("step_stride"), 1},
          {text("columns"), columns},
          {text("rows"), rows}};
}

inline QByteArray FleetBytes(const QJsonObject& head, const std::vector<FileRank>& ranks) {
  QByteArray bytes = QJsonDocument(head).toJson(QJsonDocument::Compact) + '\n';
  for (const FileRank& rank : ranks)
    bytes.append(reinterpret_cast<const char*>(rank.values.data()),
                 static_cast<qsizetype>(rank.values.size() * sizeof(double)));
  return bytes;
}

inline bool WriteBytes(const QString& path, const QByteArray& bytes) {
  QFile file(path);
  return file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size();
}

// Rank 2 leaks, rank 5 has lost its last steps and its stage.
inline std::vector<FileRank> FourSteps() {
  const auto even = [](double mib) { return std::vector<double>(4, mib * kMiBytes); };
  std::vector<FileRank> ranks{
      {2, 0, 16.6, 1, {}, {100 * kMiBytes, 110 * kMiBytes, 120 * kMiBytes, 130 * kMiBytes}},
      {0, 0, 0, 2, {}, even(100)},
      {1, 0, -0.5, 1, {}, even(98)},
      {3, 0, 0, 1, {}, even(100)},
      {5, -1, 0, -1, {}, {80 * kMiBytes, 80 * kMiBytes, kNoStep, kNoStep}}};
  for (FileRank& rank : ranks) rank.log = QStringLiteral("/logs/%1.mprof").arg(rank.rank);
  return ranks;
}

}  // namespace memprof::viewer::testing
