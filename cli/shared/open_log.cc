// Opens logs, and reports errors in one line.
#include "cli/shared/open_log.h"

#include <vector>

#include "analysis/base/status_text.h"
#include "analysis/load/load.h"
#include "analysis/log/paths.h"
#include "cli/console/command_line.h"
#include "cli/console/options.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"

namespace memprof::cli {

namespace {

// The message of a failure as one line on standard error.
void PrintFailure(const absl::Status& status, std::string_view then = "") {
  PrintError(Cat(analysis::StatusText(status), then));
}

std::shared_ptr<const analysis::Session> Checked(
    absl::StatusOr<std::shared_ptr<const analysis::Session>> session) {
  if (session.ok()) return *std::move(session);
  PrintFailure(session.status());
  return nullptr;
}

std::shared_ptr<const analysis::Session> OpenTogether(const std::vector<std::string>& logs) {
  analysis::LoadOptions load;
  load.progress = ProgressOnTerminal(Cat("reading ", logs.size(), " logs"));
  std::vector<absl::Status> skipped;
  load.skipped = [&skipped](const absl::Status& why) { skipped.push_back(why); };
  auto session = analysis::LoadLogs(logs, load);
  if (load.progress) ClearProgress();
  for (const absl::Status& why : skipped) PrintFailure(why, session.ok() ? "; left out" : "");
  if (skipped.size() == logs.size()) return nullptr;
  return Checked(std::move(session));
}

}  // namespace

std::shared_ptr<const analysis::Session> OpenLog(const std::string& path) {
  analysis::LoadOptions load;
  load.progress = ProgressOnTerminal(Cat("reading ", path));
  auto session = analysis::LoadLogs({path}, load);
  if (load.progress) ClearProgress();
  return Checked(std::move(session));
}

std::shared_ptr<const analysis::Session> OpenLogs(const Options& options, const std::string& verb,
                                                  int* status) {
  if (options.arguments().empty()) {
    *status = UsageError(verb, "which log? Name a file made by 'memprof run'");
    return nullptr;
  }
  const auto logs = analysis::LogsOf(options.arguments());
  if (!logs.ok()) PrintFailure(logs.status());
  auto session = !logs.ok()         ? nullptr
                 : logs->size() > 1 ? OpenTogether(*logs)
                                    : OpenLog(logs->front());
  if (!session) *status = kExitFailed;
  return session;
}

}  // namespace memprof::cli
