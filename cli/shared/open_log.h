// Opens the logs of a verb.
#pragma once

#include <memory>
#include <string>

#include "analysis/store/session.h"
#include "cli/console/options.h"

namespace memprof::cli {

// All logs among the arguments as one session (analysis/load/load.h); a folder stands for the logs
// in it, sorted by name. Prints an error and returns null: exit with *status.
std::shared_ptr<const analysis::Session> OpenLogs(const Options& options, const std::string& verb,
                                                  int* status);

// Loads `path` with progress; prints a failure as one line.
std::shared_ptr<const analysis::Session> OpenLog(const std::string& path);

}  // namespace memprof::cli
