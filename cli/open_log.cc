// Opens logs and says in one line why not.
#include "cli/open_log.h"

#include <vector>

#include "analysis/load/load.h"
#include "analysis/log/paths.h"
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

namespace {

// The message of a failure as one line on standard error.
void Report(const absl::Status& status, std::string_view then = "") {
  const absl::string_view message = status.message();
  PrintError(Cat(std::string_view(message.data(), message.size()), then));
}

std::shared_ptr<const analysis::Session> Opened(
    absl::StatusOr<std::shared_ptr<const analysis::Session>> session) {
  if (session.ok()) return *std::move(session);
  Report(session.status());
  return nullptr;
}

std::shared_ptr<const analysis::Session> OpenTogether(const std::vector<std::string>& logs) {
  analysis::LoadOptions load;
  load.progress = ProgressOnTerminal(Cat("reading ", logs.size(), " logs"));
  std::vector<absl::Status> skipped;
  load.skipped = [&skipped](const absl::Status& why) { skipped.push_back(why); };
  auto session = analysis::LoadLogs(logs, load);
  if (load.progress) ClearProgress();
  for (const absl::Status& why : skipped) Report(why, session.ok() ? "; left out" : "");
  if (skipped.size() == logs.size()) return nullptr;
  return Opened(std::move(session));
}

}  // namespace

std::shared_ptr<const analysis::Session> OpenLog(const std::string& path) {
  analysis::LoadOptions load;
  load.progress = ProgressOnTerminal(Cat("reading ", path));
  auto session = analysis::LoadLogs({path}, load);
  if (load.progress) ClearProgress();
  return Opened(std::move(session));
}

std::shared_ptr<const analysis::Session> OpenLogs(const Options& options, const std::string& verb,
                                                  int* status) {
  if (options.arguments().empty()) {
    *status = UsageError(verb, "which log? Name a file made by 'memprof run'");
    return nullptr;
  }
  const auto logs = analysis::LogsOf(options.arguments());
  if (!logs.ok()) Report(logs.status());
  auto session = !logs.ok()         ? nullptr
                 : logs->size() > 1 ? OpenTogether(*logs)
                                    : OpenLog(logs->front());
  if (!session) *status = kExitFailed;
  return session;
}

}  // namespace memprof::cli
