// Where logs were left: a list of links, each under a key of the log as it was then. Pure, except
// that KeyOfLogs looks at the files.
#pragma once

#include <QString>
#include <QStringList>

namespace memprof::viewer {

// Changes with the names, sizes and times of the files; "" if one is not there, or is on another
// machine.
QString KeyOfLogs(const QStringList& paths);

// `list`, as stored in the settings, with one more entry; the oldest are dropped.
QStringList AddPlace(QStringList list, const QString& key, const QString& fragment);
// The fragment of a link; "" if there is none.
QString FindPlace(const QStringList& list, const QString& key);

}  // namespace memprof::viewer
