// What is told of running programs, each cause once, and the command that is run for it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/live/process.h"

namespace memprof::cli {

struct Alert {
  std::string kind;  // "leak", "budget", "oom", "lost"
  std::string text;  // one line, with figures
  std::string log, site;
  std::uint32_t pid = 0;
  int rank = -1, device = analysis::kNoDevice;
  std::uint64_t bytes = 0;
  std::int64_t step = -1;
};

class AlertRules {
 public:
  // `above`: the budget of each device, 0 = none. `after`: for how many more steps a leak must be
  // suspected.
  AlertRules(std::uint64_t above, std::int64_t after) : above_(above), after_(after) {}

  // What is new since the last reading.
  std::vector<Alert> Check(const LiveReading& reading);

 private:
  using Place = std::pair<int, std::string>;  // device and site
  struct Known {
    analysis::TimeNs judged = 0;
    bool was_judged = false;
    std::map<Place, std::int64_t> suspected;  // since which step
    std::set<Place> told;
    std::set<int> above;  // devices beyond the budget
    std::set<std::string> lost;
    std::uint64_t ooms = 0, oom_told_unix_ns = 0;
  };

  void CheckLeaks(const LiveProcess& process, Known* known, std::vector<Alert>* alerts) const;
  void CheckBudget(const LiveProcess& process, Known* known, std::vector<Alert>* alerts) const;

  const std::uint64_t above_;
  const std::int64_t after_;
  std::map<std::string, Known> known_;  // by the log's path
};

// Runs the command for one alert after another.
class AlertRunner {
 public:
  using Clock = std::chrono::steady_clock;
  // A command that takes longer than `patience` is left alone.
  explicit AlertRunner(std::string command, Clock::duration patience = std::chrono::seconds(60))
      : command_(std::move(command)), patience_(patience) {}

  void Add(Alert alert);
  // To be called often. Whether something is left to do.
  bool Go();
  std::uint64_t dropped() const { return dropped_; }

 private:
  void Start(const Alert& alert);

  const std::string command_;
  const Clock::duration patience_;
  std::deque<Alert> waiting_;
  pid_t running_ = 0;
  Clock::time_point since_;
  std::vector<pid_t> left_alone_;
  std::uint64_t dropped_ = 0;
};

}  // namespace memprof::cli
