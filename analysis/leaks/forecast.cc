// Subtracts from the capacity what the log does not have, and what a step needs at its highest.
#include "analysis/leaks/forecast.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "analysis/base/units.h"

namespace memprof::analysis {
namespace {

// The number of compared steps: one of them may be an evaluation, or lack what only some steps
// need.
constexpr std::int64_t kRecentSteps = 4;

// Memory that the driver reported as used beyond what is in the log: contexts, libraries, other
// processes.
std::uint64_t Outside(const std::vector<MemorySample>& samples, const DeviceTimeline& timeline) {
  if (samples.empty()) return 0;
  const MemorySample& last = samples.back();
  const std::uint64_t ours = timeline.reserved.At(last.time);
  return last.used_bytes() > ours ? last.used_bytes() - ours : 0;
}

std::uint64_t CapacityOf(const Session& session, int device,
                         const std::vector<MemorySample>& samples) {
  if (!samples.empty()) return samples.back().total_bytes;
  for (const DeviceInfo& info : session.devices())
    if (info.id == device) return info.capacity_bytes;
  return 0;
}

}  // namespace

double HeadroomForLeaks(const Session& session, const StepClock& clock,
                        const DeviceTimeline& timeline, const MemorySamples& samples,
                        double slope) {
  const std::vector<MemorySample>& of_device = samples.Of(timeline.device);
  const std::uint64_t capacity = CapacityOf(session, timeline.device, of_device);
  const std::int64_t completed = clock.completed();
  if (capacity == 0 || completed == 0) return -1;
  const TimeNs judged = session.events().time(clock.judged_at().value);
  // The highest of the recent steps, each increased by what has leaked since.
  double driver = 0, blocks = 0;
  for (std::int64_t step = std::max<std::int64_t>(0, completed - kRecentSteps); step < completed;
       ++step) {
    const TimeNs begin = session.events().time(clock.BeginOf(step).value);
    const TimeNs end = session.events().time(clock.BeginOf(step + 1).value);
    const double leaked = slope * static_cast<double>(completed - 1 - step);
    const auto most = [&](const Series& series) {
      return static_cast<double>(series.Between(begin, std::max(end, begin + 1)).max);
    };
    blocks = std::max(blocks, most(timeline.framework_allocated) + leaked);
    // An allocator's segments are reused from step to step; other memory is not.
    const double held = most(timeline.reserved);
    driver = std::max(driver, timeline.framework_reserved.empty() ? held + leaked : held);
  }
  const double left =
      static_cast<double>(capacity) - static_cast<double>(Outside(of_device, timeline)) - driver;
  const auto segments = static_cast<double>(timeline.framework_reserved.At(judged));
  return std::max(0.0, left) + std::max(0.0, segments - blocks);
}

double StepsToOom(double headroom, double slope, std::int64_t completed) {
  const double steps = headroom / slope;
  return steps < 1000.0 * static_cast<double>(completed) ? steps : -1;
}

std::string StepsAhead(double steps) {
  if (steps < 1) return "in the next step";
  auto count = static_cast<std::uint64_t>(std::min(steps, 9e15));
  std::uint64_t unit = 1;
  for (; count >= 1000; count /= 10) unit *= 10;
  return absl::StrCat("in about ", FormatNumberOf(count * unit, "step"));
}

}  // namespace memprof::analysis
