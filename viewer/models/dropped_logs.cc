// Looks at the URLs of a drop.
#include "viewer/models/dropped_logs.h"

#include <QUrl>

#include "viewer/models/remote_log.h"

namespace memprof::viewer {

QStringList DroppedLogs(const QMimeData& data) {
  QStringList logs;
  for (const QUrl& url : data.urls()) {
    const QString name = url.toString(QUrl::FullyEncoded);
    if (url.isLocalFile())
      logs << url.toLocalFile();
    else if (IsRemoteName(name))
      logs << name;
  }
  return logs;
}

}  // namespace memprof::viewer
