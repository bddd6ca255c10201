// Opens logs and says in one line why not.
#include "cli/open_log.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "analysis/steps_found.h"
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

// The message of a failure as one line on standard error; null.
std::shared_ptr<const analysis::Session> Opened(
    absl::StatusOr<std::shared_ptr<const analysis::Session>> session) {
  if (session.ok()) return *std::move(session);
  const absl::string_view message = session.status().message();
  PrintError(std::string_view(message.data(), message.size()));
  return nullptr;
}

// `arguments`, with folders replaced by the logs in them. Nothing if one holds none.
std::optional<std::vector<std::string>> LogsOf(const std::vector<std::string>& arguments) {
  std::vector<std::string> logs;
  for (const std::string& argument : arguments) {
    std::error_code error;
    if (!std::filesystem::is_directory(argument, error)) {
      logs.push_back(argument);
      continue;
    }
    std::vector<std::string> found;
    for (std::filesystem::directory_iterator at(argument, error), end; !error && at != end;
         at.increment(error)) {
      if (at->path().extension() == ".mprof") found.push_back(at->path().string());
    }
    if (error || found.empty()) {
      PrintError(Cat(argument, error ? Cat(": cannot be read: ", error.message())
                                     : std::string(": no log (*.mprof) is in this folder")));
      return std::nullopt;
    }
    std::sort(found.begin(), found.end());
    logs.insert(logs.end(), found.begin(), found.end());
  }
  return logs;
}

std::shared_ptr<const analysis::Session> OpenTogether(const std::vector<std::string>& logs) {
  analysis::LoadOptions load;
  load.step_finder = analysis::FindStepsToUse;
  load.progress = ProgressOnTerminal(Cat("reading ", logs.size(), " logs"));
  auto session = analysis::Session::LoadTogether(logs, load);
  if (load.progress) ClearProgress();
  return Opened(std::move(session));
}

}  // namespace

std::shared_ptr<const analysis::Session> OpenLog(const std::string& path) {
  analysis::LoadOptions load;
  load.step_finder = analysis::FindStepsToUse;
  load.progress = ProgressOnTerminal(Cat("reading ", path));
  auto session = analysis::Session::Load(path, load);
  if (load.progress) ClearProgress();
  return Opened(std::move(session));
}

std::shared_ptr<const analysis::Session> OpenLogs(const Options& options, const std::string& verb,
                                                  int* status) {
  if (options.arguments().empty()) {
    *status = UsageError(verb, "which log? Name a file made by 'memprof run'");
    return nullptr;
  }
  const auto logs = LogsOf(options.arguments());
  auto session = !logs ? nullptr : logs->size() > 1 ? OpenTogether(*logs) : OpenLog(logs->front());
  if (!session) *status = kExitFailed;
  return session;
}

}  // namespace memprof::cli
