// What every verb that reads a log does first.
#pragma once

#include <memory>
#include <string>

#include "analysis/store/session.h"
#include "cli/options.h"

namespace memprof::cli {

// Exit statuses of memprof; see docs/cli.md.
inline constexpr int kExitFine = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitFailOn = 3;

// Parses `options`. Returns a status to exit with, after having printed help or the error, or -1
// to go on.
int ParseOrExit(Options& options, const std::string& verb, int argc, char** argv);

// All logs among the arguments as one session (analysis/load/load.h); a folder stands for the
// logs in it, by name. Prints the error otherwise. Null means: exit with *status.
std::shared_ptr<const analysis::Session> OpenLogs(const Options& options, const std::string& verb,
                                                  int* status);

// Loads `path` with progress; prints a failure as one line.
std::shared_ptr<const analysis::Session> OpenLog(const std::string& path);

// Prints a usage error of `verb` and returns its exit status.
int UsageError(const std::string& verb, const std::string& message);

}  // namespace memprof::cli
