// Entries of the list of recent files: a log, or several that were opened together.
#pragma once

#include <QString>
#include <QStringList>

namespace memprof::viewer {

// `paths` are absolute.
QString RecentEntry(const QStringList& paths);
QStringList PathsOfRecent(const QString& entry);
// Puts an entry at the top of the list in the user's settings; returns the list.
QStringList AddToRecent(const QStringList& paths);
// "/runs/r0.mprof and 3 more".
QString RecentTitle(const QString& entry);

}  // namespace memprof::viewer
