// What of a drop is a log.
#pragma once

#include <QMimeData>
#include <QStringList>

namespace memprof::viewer {

// Files of this machine, and names of those on others, which file managers give as sftp://…
QStringList DroppedLogs(const QMimeData& data);

}  // namespace memprof::viewer
