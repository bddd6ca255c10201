// The figures of programs that are looked at while they run: each stands for one log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/base/types.h"

namespace memprof::cli {

// A curve has at most so many points, each the least and the most in a time of this length: those
// of the last five minutes.
inline constexpr std::size_t kLivePoints = 960;
inline constexpr analysis::TimeNs kLiveSlot = 312'500'000;
// The rate of steps is that of so many.
inline constexpr std::size_t kLiveRecentSteps = 20;

// What grows. Of runs without steps, growth is bytes per second.
struct LiveLeak {
  std::string tier;  // of analysis::LeakTierName
  int device = analysis::kNoDevice;
  bool in_use = false;
  double growth = 0;
  std::uint64_t bytes = 0;
  std::string site;
};

struct LiveFailure {
  int device = analysis::kNoDevice;
  std::uint64_t bytes = 0;
  analysis::TimeNs time = 0;  // since the start, as all times here
  std::int64_t step = -1;
  bool recovered = false;
  std::string site;
};

struct LivePart {
  std::string name, key;
  std::uint64_t bytes = 0;
};

struct LiveDevice {
  int device = analysis::kNoDevice;
  std::string name;
  std::uint64_t capacity = 0;  // 0 = unknown
  std::uint64_t used = 0;      // of the device, also by others; without samples of this program
  std::uint64_t allocated = 0, reserved = 0, peak = 0;
  std::uint64_t largest_hole = 0;  // in a framework's segments, when growth was judged
  double headroom = -1;            // -1 = unknown, here and below
  double growth = 0;               // of all leaks of the device
  std::string growth_tier;         // the most certain of them; "" = none
  double steps_to_oom = -1, seconds_to_oom = -1;
  std::vector<LivePart> categories, layers;  // largest first
  bool framework = false;                    // allocated, peak and curve are of its allocator
  std::vector<std::pair<std::uint64_t, std::uint64_t>> curve;
  std::uint64_t curve_end = 0;  // the number of its last slot since the start, + 1
};

enum class LiveState { kRunning, kEnded, kKilled };
std::string_view LiveStateName(LiveState state);  // "running", "ended", "killed"

// One log.
struct LiveProcess {
  std::string path, command, host, end_reason;
  std::uint32_t pid = 0;
  int rank = -1;
  LiveState state = LiveState::kRunning;
  std::uint64_t start_unix_ns = 0;
  analysis::TimeNs last_event = 0;
  analysis::TimeNs judged = 0;  // up to where growth, kinds of memory and failures are known
  std::int64_t step = -1;       // -1 = before the first, or no steps
  std::uint64_t steps = 0;      // completed
  double steps_per_second = 0;  // of the last ones; 0 = unknown
  std::string sampling;         // of a log that is always on: what it left out
  bool by_time = false;         // growth is judged by time: there are no steps
  bool too_short = false;       // for a sure judgement of growth
  bool simulated = false;
  std::vector<std::pair<std::string, std::uint64_t>> losses;  // anomalies, with their counts
  std::vector<LiveDevice> devices;
  std::vector<LiveLeak> leaks;  // worst first
  std::uint64_t failures = 0;
  std::optional<LiveFailure> failure;  // the last one
  // Those after which the program did not get the memory. Of one within the last second that is
  // not known yet.
  std::uint64_t ooms = 0;
  std::optional<LiveFailure> oom;  // the last of these
  // What the recorder says about itself; the log has it every ten seconds, and at the end.
  std::uint64_t recorder_bytes = 0, recorder_cpu_ns = 0;

  // Without a log that says how it ended, it runs until now.
  analysis::TimeNs Elapsed(std::uint64_t now_unix_ns) const;
};

// All logs at one time.
struct LiveReading {
  std::vector<LiveProcess> processes;
  std::vector<std::string> errors;   // of logs that cannot be read
  analysis::TimeNs whole_every = 0;  // how often growth is judged
  std::uint64_t now_unix_ns = 0;
};

// By the times at which steps began; 0 = unknown.
double LiveStepRate(const std::vector<analysis::TimeNs>& begins);

}  // namespace memprof::cli
