// Entries of the list of recent files.
#include "viewer/models/recent.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QSettings>

#include "viewer/models/remote_log.h"

namespace memprof::viewer {

// Paths of logs practically never contain a line feed.
QString RecentEntry(const QStringList& paths) { return paths.join(QLatin1Char('\n')); }

QStringList PathsOfRecent(const QString& entry) {
  return entry.split(QLatin1Char('\n'), Qt::SkipEmptyParts);
}

QStringList AddToRecent(const QStringList& paths) {
  QSettings store;
  QStringList recent = store.value(QStringLiteral("recent")).toStringList();
  QStringList absolute;
  for (const QString& path : paths)
    absolute << (IsRemoteName(path) ? path : QFileInfo(path).absoluteFilePath());
  const QString entry = RecentEntry(absolute);
  recent.removeAll(entry);
  recent.prepend(entry);
  while (recent.size() > 10) recent.removeLast();
  store.setValue(QStringLiteral("recent"), recent);
  return recent;
}

QString RecentTitle(const QString& entry) {
  const QStringList paths = PathsOfRecent(entry);
  if (paths.size() < 2) return entry;
  return QCoreApplication::translate("recent", "%1 and %2 more")
      .arg(paths.front())
      .arg(paths.size() - 1);
}

}  // namespace memprof::viewer
