// Opens logs and says in one line why not.
#include "cli/open_log.h"

#include "cli/terminal.h"
#include "cli/text.h"

namespace memprof::cli {

int ParseOrExit(Options& options, const std::string& verb, int argc, char** argv) {
  const absl::Status status = options.Parse(argc, argv);
  if (!status.ok()) {
    const absl::string_view message = status.message();
    return UsageError(verb, std::string(message.data(), message.size()));
  }
  if (!options.help()) return -1;
  return WriteOut(options.HelpText()) ? kExitFine : kExitFailed;
}

int UsageError(const std::string& verb, const std::string& message) {
  PrintError(Cat(verb, ": ", message, " (see 'memprof ", verb, " --help')"));
  return kExitUsage;
}

std::shared_ptr<const analysis::Session> OpenLog(const std::string& path) {
  analysis::LoadOptions load;
  load.progress = ProgressOnTerminal(Cat("reading ", path));
  auto session = analysis::Session::Load(path, load);
  if (load.progress) ClearProgress();
  if (session.ok()) return *std::move(session);
  const absl::string_view message = session.status().message();
  PrintError(std::string_view(message.data(), message.size()));
  return nullptr;
}

std::shared_ptr<const analysis::Session> OpenOneLog(const Options& options, const std::string& verb,
                                                    int* status) {
  if (options.arguments().size() != 1) {
    *status = UsageError(verb, options.arguments().empty()
                                   ? "which log? Name a file made by 'memprof run'"
                                   : "one log at a time, please");
    return nullptr;
  }
  auto session = OpenLog(options.arguments()[0]);
  if (!session) *status = kExitFailed;
  return session;
}

}  // namespace memprof::cli
