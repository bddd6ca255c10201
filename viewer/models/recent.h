// Entries of the list of recent files: a log, or several that were opened together.
#pragma once

#include <QString>
#include <QStringList>

namespace memprof::viewer {

// `paths` are absolute.
QString RecentEntry(const QStringList& paths);
QStringList PathsOfRecent(const QString& entry);
// "/runs/r0.mprof and 3 more".
QString RecentTitle(const QString& entry);

}  // namespace memprof::viewer
