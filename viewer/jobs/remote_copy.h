// Copies a log from another machine with the user's own ssh.
#pragma once

#include <QString>
#include <functional>
#include <stop_token>

#include "absl/status/status.h"
#include "viewer/models/remote_log.h"

namespace memprof::viewer {

// Writes the first bytes of the remote file into `file`: as many as it had when the copy began, and
// no more than the disk has room for. ssh is started without a shell.
// Calls `report` with the share copied (0 … 1). For jobs: blocks until all is there, and ends soon
// after a request to stop. Errors: one line that names the host; kCancelled.
absl::Status CopyRemoteLog(const RemoteLog& log, const QString& file,
                           const std::function<void(double)>& report, const std::stop_token& stop);

}  // namespace memprof::viewer
