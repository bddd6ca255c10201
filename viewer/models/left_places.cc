// Entries are "KEY FRAGMENT", the last left first.
#include "viewer/models/left_places.h"

#include <QCryptographicHash>
#include <QDateTime>
#include <QDir>
#include <QFileInfo>

namespace memprof::viewer {
namespace {

constexpr qsizetype kMaxPlaces = 50;

void AddFile(QCryptographicHash* hash, const QFileInfo& file) {
  hash->addData(QStringLiteral("%1\n%2\n%3\n")
                    .arg(file.absoluteFilePath())
                    .arg(file.size())
                    .arg(file.lastModified().toMSecsSinceEpoch())
                    .toUtf8());
}

}  // namespace

QString KeyOfLogs(const QStringList& paths) {
  QCryptographicHash hash(QCryptographicHash::Sha1);
  for (const QString& path : paths) {
    const QFileInfo file(path);
    if (!file.exists()) return {};
    if (file.isDir()) {
      for (const QFileInfo& inside : QDir(path).entryInfoList(QDir::Files, QDir::Name))
        AddFile(&hash, inside);
    } else {
      AddFile(&hash, file);
    }
  }
  return QString::fromLatin1(hash.result().toHex());
}

QStringList AddPlace(QStringList list, const QString& key, const QString& fragment) {
  const QString start = key + QLatin1Char(' ');
  if (key.isEmpty()) return list;
  list.removeIf([&start](const QString& entry) { return entry.startsWith(start); });
  list.prepend(start + fragment);
  if (list.size() > kMaxPlaces) list.resize(kMaxPlaces);
  return list;
}

QString FindPlace(const QStringList& list, const QString& key) {
  const QString start = key + QLatin1Char(' ');
  if (key.isEmpty()) return {};
  for (const QString& entry : list)
    if (entry.startsWith(start)) return entry.mid(start.size());
  return {};
}

}  // namespace memprof::viewer
