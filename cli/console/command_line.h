// Reads the command line of a verb.
#pragma once

#include <string>

#include "cli/console/options.h"

namespace memprof::cli {

// Exit statuses of memprof; see docs/cli.md.
inline constexpr int kExitFine = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitFailOn = 3;

// Parses `options`. Returns an exit status after printing help or an error, or -1 to continue.
int ParseOrExit(Options& options, const std::string& verb, int argc, char** argv);

// Prints a usage error of `verb` and returns its exit status.
int UsageError(const std::string& verb, const std::string& message);

}  // namespace memprof::cli
