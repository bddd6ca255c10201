// Starts the command of an alert. The process has other threads: so there is no fork.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/watch/internal/alerts.h"

namespace memprof::cli {
namespace {

constexpr std::size_t kMostWaiting = 64;

std::vector<std::string> EnvironmentOf(const Alert& alert) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (!std::string_view(*variable).starts_with("MEMPROF_ALERT") &&
        !std::string_view(*variable).starts_with("MEMPROF_METRICS_TOKEN="))
      variables.emplace_back(*variable);
  const auto set = [&variables](const char* name, const auto& value) {
    variables.push_back(Cat("MEMPROF_ALERT", name, "=", value));
  };
  set("", alert.kind);
  set("_TEXT", alert.text);
  set("_LOG", alert.log);
  set("_PID", alert.pid);
  set("_RANK", alert.rank < 0 ? "" : Cat(alert.rank));
  set("_DEVICE", alert.device == analysis::kNoDevice ? "" : Cat(alert.device));
  set("_SITE", alert.site);
  set("_BYTES", alert.bytes);
  set("_STEP", alert.step < 0 ? "" : Cat(alert.step));
  return variables;
}

}  // namespace

void AlertRunner::Add(Alert alert) {
  if (waiting_.size() >= kMostWaiting) {
    if (dropped_++ == 0) PrintError("alerts come faster than their command ends; some are dropped");
    return;
  }
  waiting_.push_back(std::move(alert));
}

bool AlertRunner::Go() {
  std::erase_if(left_alone_, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
  int status = 0;
  if (running_ > 0 && waitpid(running_, &status, WNOHANG) == running_) {
    running_ = 0;
    if (status != 0)
      PrintError(Cat("the command of an alert ended with ",
                     WIFSIGNALED(status) ? Cat("signal ", WTERMSIG(status))
                                         : Cat("status ", WEXITSTATUS(status))));
  }
  if (running_ > 0 && Clock::now() - since_ >= patience_) {
    PrintError(Cat("the command of an alert still runs after ",
                   std::chrono::duration_cast<std::chrono::seconds>(patience_).count(),
                   " s; it is left alone (process ", running_, ")"));
    left_alone_.push_back(running_);
    running_ = 0;
  }
  if (running_ == 0 && !waiting_.empty()) {
    Start(waiting_.front());
    waiting_.pop_front();
  }
  return running_ > 0 || !waiting_.empty();
}

void AlertRunner::Start(const Alert& alert) {
  std::string shell = "sh", option = "-c", command = command_;
  char* const words[] = {shell.data(), option.data(), command.data(), nullptr};
  std::vector<std::string> variables = EnvironmentOf(alert);
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, "/bin/sh", &actions, nullptr, words, environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return PrintError(Cat("the command of an alert could not be started: ", std::strerror(error)));
  running_ = pid;
  since_ = Clock::now();
}

}  // namespace memprof::cli
