// Reads a grid of a fleet. The file may be anything.
#include "viewer/models/fleet_grid.h"

#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>

#include "viewer/geometry/units.h"
#include "viewer/geometry/words.h"

namespace memprof::viewer {
namespace {

static_assert(std::endian::native == std::endian::little, "the file's doubles are little-endian");

constexpr qint64 kLongestLine = 256 << 20;
constexpr qsizetype kMostRanks = 1'000'000;
constexpr std::int64_t kMostColumns = 1'000'000, kMostCells = 1 << 28;
constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

absl::Status BrokenGrid(const QString& path, const QString& why) {
  return absl::DataLossError(QStringLiteral("%1: %2").arg(path, why).toStdString());
}

// A whole number that doubles and steps can hold; nothing of anything else.
std::optional<std::int64_t> WholeNumber(const QJsonValue& value) {
  constexpr double kLargest = 9007199254740992;
  if (!value.isDouble()) return std::nullopt;
  const double number = value.toDouble();
  if (!(std::abs(number) <= kLargest) || number != std::floor(number)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

FleetRow RowOf(const QJsonObject& json, std::size_t own, std::size_t rows) {
  FleetRow row;
  row.rank = WholeNumber(json[QLatin1String("rank")]);
  row.stage = WholeNumber(json[QLatin1String("stage")]);
  row.host = json[QLatin1String("host")].toString();
  row.log = json[QLatin1String("log")].toString();
  const QJsonValue distance = json[QLatin1String("distance")];
  if (distance.isDouble() && std::isfinite(distance.toDouble())) row.distance = distance.toDouble();
  const auto typical = WholeNumber(json[QLatin1String("typical")]);
  if (typical && *typical >= 0 && static_cast<std::size_t>(*typical) < rows &&
      static_cast<std::size_t>(*typical) != own)
    row.typical = static_cast<std::size_t>(*typical);
  return row;
}

FleetJob JobOf(const QJsonObject& json) {
  FleetJob job;
  job.job = json[QLatin1String("job")].toString();
  job.day = json[QLatin1String("day")].toString();
  job.attempt = std::max<std::int64_t>(0, WholeNumber(json[QLatin1String("attempt")]).value_or(0));
  job.ranks = std::max<std::int64_t>(0, WholeNumber(json[QLatin1String("ranks")]).value_or(0));
  job.steps = std::max<std::int64_t>(0, WholeNumber(json[QLatin1String("steps")]).value_or(0));
  return job;
}

// What is wrong with the line; "" if nothing is.
QString ReadHead(const QByteArray& line, FleetGrid* grid) {
  QJsonParseError error;
  const QJsonObject head = QJsonDocument::fromJson(line, &error).object();
  if (error.error != QJsonParseError::NoError)
    return Tr("no grid of a fleet: %1").arg(error.errorString());
  const auto version = WholeNumber(head[QLatin1String("grid")]);
  if (!version) return Tr("no grid of a fleet");
  if (*version != 1) return Tr("a grid of version %1, and this viewer reads 1").arg(*version);
  const QString unit = head[QLatin1String("unit")].toString();
  if (unit != QLatin1String("bytes") && unit != QLatin1String("ns"))
    return Tr("its unit is unknown");
  grid->bytes = unit == QLatin1String("bytes");
  grid->job = head[QLatin1String("job")].toString();
  grid->figure = head[QLatin1String("figure")].toString();
  const auto attempt = WholeNumber(head[QLatin1String("attempt")]),
             first = WholeNumber(head[QLatin1String("first_step")]),
             stride = WholeNumber(head[QLatin1String("step_stride")]),
             columns = WholeNumber(head[QLatin1String("columns")]);
  const QJsonArray rows = head[QLatin1String("rows")].toArray();
  if (!attempt || *attempt < 0 || !first || !stride || *stride < 1 || *stride > 1LL << 52 ||
      !columns || *columns < 0 || *columns > kMostColumns || rows.isEmpty() ||
      rows.size() > kMostRanks || rows.size() * *columns > kMostCells ||
      static_cast<double>(*columns) * static_cast<double>(*stride) > 9e15)
    return Tr("its numbers of ranks and steps cannot be");
  grid->attempt = *attempt;
  grid->first_step = *first;
  grid->step_stride = *stride;
  grid->columns = static_cast<std::size_t>(*columns);
  for (const QJsonValue row : rows)
    grid->rows.push_back(
        RowOf(row.toObject(), grid->rows.size(), static_cast<std::size_t>(rows.size())));
  for (const QJsonValue job : head[QLatin1String("jobs")].toArray())
    grid->jobs.push_back(JobOf(job.toObject()));
  for (const QJsonValue figure : head[QLatin1String("figures")].toArray())
    grid->figures << figure.toString();
  return {};
}

// What follows from the values.
void Complete(FleetGrid* grid) {
  std::map<std::optional<std::int64_t>, std::uint32_t> stages;
  for (const FleetRow& row : grid->rows)
    grid->stages.push_back(
        stages.emplace(row.stage, static_cast<std::uint32_t>(stages.size())).first->second);
  grid->medians = GroupMedians(grid->values, grid->stages, stages.size(), grid->columns);
  grid->least = std::numeric_limits<double>::infinity();
  grid->most = -grid->least;
  double farthest = 0;
  for (std::size_t i = 0; i < grid->rows.size(); ++i) {
    FleetRow& row = grid->rows[i];
    row.highest = kNoValue;
    for (std::size_t cell = i * grid->columns; cell < (i + 1) * grid->columns; ++cell) {
      const double value = grid->values[cell];
      if (std::isnan(value)) continue;
      row.highest = std::fmax(row.highest, value);
      grid->least = std::min(grid->least, value);
      farthest = std::max(farthest, std::abs(value - grid->MedianOf(cell)));
    }
    if (!std::isnan(row.highest)) grid->most = std::max(grid->most, row.highest);
  }
  if (grid->most < grid->least) grid->least = grid->most = 0;
  double usual = 0;
  for (std::size_t stage = 0; stage < stages.size() && grid->columns > 0; ++stage) {
    const auto begin = grid->medians.begin() + static_cast<std::ptrdiff_t>(stage * grid->columns);
    const std::vector<double> of_stage(begin, begin + static_cast<std::ptrdiff_t>(grid->columns));
    const double median =
        GroupMedians(of_stage, std::vector<std::uint32_t>(grid->columns, 0), 1, 1).front();
    if (std::abs(median) > usual) usual = std::abs(median);
  }
  grid->limit =
      usual > 0 ? std::clamp(farthest, 0.02 * usual, 0.5 * usual) : std::max(1.0, farthest);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const FleetGrid>> ReadFleetGrid(const QString& path) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return BrokenGrid(path, file.errorString());
  const QByteArray line = file.readLine(kLongestLine);
  if (!line.endsWith('\n')) return BrokenGrid(path, Tr("no grid of a fleet"));
  auto grid = std::make_shared<FleetGrid>();
  const QString wrong = ReadHead(line, grid.get());
  if (!wrong.isEmpty()) return BrokenGrid(path, wrong);
  const std::size_t cells = grid->rows.size() * grid->columns;
  const auto wanted = static_cast<qint64>(cells * sizeof(double));
  if (file.size() - file.pos() != wanted)
    return BrokenGrid(
        path, Tr("the grid has %1 bytes instead of %2").arg(file.size() - file.pos()).arg(wanted));
  grid->values.resize(cells);
  if (file.read(reinterpret_cast<char*>(grid->values.data()), wanted) != wanted)
    return BrokenGrid(path, file.errorString());
  for (double& value : grid->values)
    if (!std::isfinite(value) || std::abs(value) > 1e19) value = kNoValue;
  Complete(grid.get());
  return grid;
}

QString WhyNotHere(const FleetRow& row) {
  if (row.log.isEmpty()) return Tr("The tables do not say where the log of %1 is.").arg(row.Name());
  if (row.log.contains(QLatin1String("://")))
    return Tr("The log of %1 is not on this machine but at %2. Copy it from there (aws s3 cp, "
              "gsutil "
              "cp, …), and open the copy.")
        .arg(row.Name(), row.log);
  if (QFileInfo(row.log).isFile()) return {};
  return Tr("The log of %1 is not on this machine: when it was mapped it was %2; it is of host "
            "%3. "
            "Copy it, or mount its folder at this path.")
      .arg(row.Name(), row.log, row.host);
}

QString FleetRow::Name() const {
  return rank ? Tr("rank %1").arg(*rank) : Tr("a process of %1").arg(host);
}

QString FleetRow::StageName() const {
  return stage ? QString::number(*stage) : QStringLiteral("–");
}

QString FleetGrid::StepName(std::size_t column) const {
  const std::int64_t first = first_step + static_cast<std::int64_t>(column) * step_stride;
  if (step_stride == 1) return Tr("step %1").arg(first);
  return Tr("highest of steps %1 to %2").arg(first).arg(first + step_stride - 1);
}

QString FleetGrid::Text(double value) const {
  if (std::isnan(value)) return QStringLiteral("–");
  const QString sign = value < 0 ? QStringLiteral("−") : QString();
  const auto whole = static_cast<std::uint64_t>(std::abs(value));
  return sign + (bytes ? FormatBytes(whole) : FormatDuration(whole));
}

QString FleetGrid::Signed(double value) const {
  return (value > 0 ? QStringLiteral("+") : QString()) + Text(value);
}

std::vector<std::uint32_t> FleetGrid::Order(bool by_rank) const {
  std::vector<std::uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0u);
  if (by_rank)
    std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
      constexpr auto kLast = std::numeric_limits<std::int64_t>::max();
      return rows[a].rank.value_or(kLast) < rows[b].rank.value_or(kLast);
    });
  return order;
}

QString FigureTitle(const QString& figure) {
  if (figure == QLatin1String("allocated_peak")) return Tr("In use, highest of the step");
  if (figure == QLatin1String("peak")) return Tr("Driver memory, highest of the step");
  if (figure == QLatin1String("reserved_peak")) return Tr("Reserved, highest of the step");
  if (figure == QLatin1String("allocated_end")) return Tr("In use at the step's end");
  if (figure == QLatin1String("reserved_end")) return Tr("Reserved at the step's end");
  if (figure == QLatin1String("duration")) return Tr("Duration of the step");
  return figure;
}

}  // namespace memprof::viewer
