// Entries of the list of recent files.
#include "viewer/models/recent.h"

#include <QCoreApplication>

namespace memprof::viewer {

// Paths of logs practically never contain a line feed.
QString RecentEntry(const QStringList& paths) { return paths.join(QLatin1Char('\n')); }

QStringList PathsOfRecent(const QString& entry) {
  return entry.split(QLatin1Char('\n'), Qt::SkipEmptyParts);
}

QString RecentTitle(const QString& entry) {
  const QStringList paths = PathsOfRecent(entry);
  if (paths.size() < 2) return entry;
  return QCoreApplication::translate("recent", "%1 and %2 more")
      .arg(paths.front())
      .arg(paths.size() - 1);
}

}  // namespace memprof::viewer
