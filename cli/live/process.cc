#include "cli/live/process.h"

#include <algorithm>

namespace memprof::cli {

std::string_view LiveStateName(LiveState state) {
  return state == LiveState::kRunning ? "running" : state == LiveState::kEnded ? "ended" : "killed";
}

double LiveStepRate(const std::vector<analysis::TimeNs>& begins) {
  if (begins.size() < 2 || begins.back() <= begins.front()) return 0;
  return static_cast<double>(begins.size() - 1) * 1e9 /
         static_cast<double>(begins.back() - begins.front());
}

analysis::TimeNs LiveProcess::Elapsed(std::uint64_t now_unix_ns) const {
  if (state != LiveState::kRunning || start_unix_ns == 0) return last_event;
  return std::max(last_event, now_unix_ns - std::min(now_unix_ns, start_unix_ns));
}

}  // namespace memprof::cli
