// Logs that lost too much for most verbs.
#pragma once

#include <memory>
#include <string>

#include "analysis/store/session.h"
#include "cli/console/options.h"

namespace memprof::cli {

// As OpenLogs (open_log.h), for a verb whose figures need all events. Where too many are lost, it
// prints how many as its error.
std::shared_ptr<const analysis::Session> OpenWholeLogs(const Options& options,
                                                       const std::string& verb, int* status);

// As OpenLog: the same of one log.
std::shared_ptr<const analysis::Session> OpenWholeLog(const std::string& path,
                                                      const std::string& verb);

}  // namespace memprof::cli
