// The index of deaths behind replay.h.
#include "analysis/replay.h"

#include <algorithm>
#include <set>

namespace memprof::analysis {
namespace {

// The event that ended `a`; none while it is alive. Ends without an event of their own are placed
// at the last event of their time.
EventId DeathEvent(const Session& session, const Allocation& a) {
  if (a.alive()) return EventId();
  if (a.death.valid() && a.death.value < session.events().size()) return a.death;
  return session.EventAt(a.death_time);
}

}  // namespace

DeathIndex::DeathIndex(const Session& session) {
  const auto allocations = session.allocations();
  begin_.assign(session.events().size() + 1, 0);
  std::vector<std::uint32_t> death(allocations.size(), EventId::kNone);
  for (std::size_t i = 0; i < allocations.size(); ++i) {
    const EventId event = DeathEvent(session, allocations[i]);
    if (!event.valid()) continue;
    death[i] = event.value;
    ++begin_[event.value + 1];
  }
  for (std::size_t e = 1; e < begin_.size(); ++e) begin_[e] += begin_[e - 1];
  ids_.resize(begin_.back());
  std::vector<std::uint32_t> cursor(begin_.begin(), begin_.end() - 1);
  for (std::uint32_t i = 0; i < death.size(); ++i) {
    if (death[i] != EventId::kNone) ids_[cursor[death[i]]++] = AllocationId(i);
  }
}

std::vector<int> DeviceOrdinals(const Session& session) {
  std::set<int> ordinals;
  for (const DeviceInfo& device : session.devices()) ordinals.insert(device.id);
  int last = kNoDevice;
  for (const Allocation& a : session.allocations()) {
    if (a.device == last || a.device == kNoDevice) continue;
    last = a.device;
    ordinals.insert(last);
  }
  return {ordinals.begin(), ordinals.end()};
}

}  // namespace memprof::analysis
