#include "cli/console/command_line.h"

#include "analysis/base/status_text.h"
#include "cli/console/options.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"

namespace memprof::cli {

int ParseOrExit(Options& options, const std::string& verb, int argc, char** argv) {
  const absl::Status status = options.Parse(argc, argv);
  if (!status.ok()) {
    return UsageError(verb, analysis::StatusText(status));
  }
  if (!options.help()) return -1;
  return WriteOut(options.HelpText()) ? kExitFine : kExitFailed;
}

int UsageError(const std::string& verb, const std::string& message) {
  PrintError(Cat(verb, ": ", message, " (see 'memprof ", verb, " --help')"));
  return kExitUsage;
}

}  // namespace memprof::cli
