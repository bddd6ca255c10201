// How close each device came to being full.
#include <algorithm>

#include "analysis/oom/oom.h"

namespace memprof::analysis {
namespace {

// The first instant of [begin, end) at which `series` has the value `wanted`.
TimeNs FirstTimeOf(const Series& series, TimeNs begin, TimeNs end, std::uint64_t wanted) {
  if (series.At(begin) == wanted) return begin;
  const auto times = series.times();
  const auto values = series.values();
  auto at = std::upper_bound(times.begin(), times.end(), begin);
  for (; at != times.end() && *at < end; ++at)
    if (values[static_cast<std::size_t>(at - times.begin())] == wanted) return *at;
  return begin;
}

Headroom HeadroomOf(const Session& session, const DeviceTimeline& timeline,
                    const std::vector<MemorySample>& samples) {
  Headroom headroom{.device = timeline.device, .samples = samples.size()};
  for (const DeviceInfo& info : session.devices())
    if (info.id == timeline.device) headroom.total = info.capacity_bytes;
  if (!samples.empty()) {
    headroom.total = samples.back().total_bytes;
    const auto lowest = std::min_element(
        samples.begin(), samples.end(),
        [](const MemorySample& a, const MemorySample& b) { return a.free_bytes < b.free_bytes; });
    headroom.lowest_free = lowest->free_bytes;
    headroom.lowest_time = lowest->time;
  }
  std::uint64_t most = 0;
  bool found = false;
  const auto consider = [&](TimeNs begin, TimeNs end, std::uint64_t outside) {
    const std::uint64_t held = timeline.reserved.Between(begin, end).max;
    if (found && held + outside <= most) return;
    found = true;
    most = held + outside;
    headroom.time = FirstTimeOf(timeline.reserved, begin, end, held);
  };
  if (samples.empty()) consider(session.events().first_time(), kForever, 0);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::uint64_t ours = timeline.reserved.At(samples[i].time);
    const std::uint64_t used = samples[i].used_bytes();
    consider(i == 0 ? session.events().first_time() : samples[i].time,
             i + 1 < samples.size() ? samples[i + 1].time : kForever,
             used > ours ? used - ours : 0);
  }
  headroom.lowest = headroom.total > most ? headroom.total - most : 0;
  headroom.step = session.StepAt(headroom.time);
  const std::uint64_t segments = timeline.framework_reserved.At(headroom.time);
  const std::uint64_t blocks = timeline.framework_allocated.At(headroom.time);
  headroom.reusable = segments > blocks ? segments - blocks : 0;
  return headroom;
}

}  // namespace

std::vector<Headroom> FindHeadroom(const Session& session) {
  std::vector<Headroom> headrooms;
  const auto samples = SamplesOf(session);
  const auto timelines = TimelinesOf(session);
  for (const DeviceTimeline& timeline : *timelines)
    if (timeline.device != kNoDevice)
      headrooms.push_back(HeadroomOf(session, timeline, samples->Of(timeline.device)));
  return headrooms;
}

}  // namespace memprof::analysis
