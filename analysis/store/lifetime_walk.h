// Walks the births and deaths of all allocations in the order of events: the basis of timelines and
// peaks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

// The allocations that end at an event, for events in ascending order.
class Deaths {
 public:
  // `first`: the first event that will be queried.
  explicit Deaths(const Session& session, EventId first = EventId(0));
  // Allocations that end at `event`, in order of birth.
  std::span<const AllocationId> At(EventId event) {
    const EventTable& events = session_.events();
    const AllocationId own =
        events.op(event.value) == Op::kFree ? events.allocation(event.value) : AllocationId();
    if (others_.empty() || session_.record(others_.front()).death > event) {
      own_ = own;
      return {&own_, own.valid() && session_.record(own).death == event ? 1u : 0u};
    }
    return Several(event, own);
  }

 private:
  std::span<const AllocationId> Several(EventId event, AllocationId own);

  const Session& session_;
  std::span<const AllocationId> others_;  // those not yet reached
  AllocationId own_;
  std::vector<AllocationId> ids_;
};

// Calls visitor.Death(event, allocation) and visitor.Birth(event, allocation) in the order of
// events, deaths first within an event, then visitor.After(event) once for every event in [begin,
// end). If the visitor has a function Stop(), it is called from time to time, and the walk ends
// when it returns true.
template <typename Visitor>
void WalkLifetimes(const Session& session, EventId begin, EventId end, Visitor& visitor) {
  Deaths deaths(session, begin);
  const std::span<const AllocationRecord> records = session.records();
  std::size_t next = static_cast<std::size_t>(
      std::lower_bound(records.begin(), records.end(), begin,
                       [](const AllocationRecord& a, EventId e) { return a.birth < e; }) -
      records.begin());
  for (std::uint32_t e = begin.value; e < end.value; ++e) {
    if constexpr (requires { visitor.Stop(); }) {
      if (e % 65536 == 0 && visitor.Stop()) return;
    }
    const EventId event(e);
    for (const AllocationId id : deaths.At(event)) visitor.Death(event, id);
    while (next < records.size() && records[next].birth.value <= e) {
      visitor.Birth(event, AllocationId(static_cast<std::uint32_t>(next)));
      ++next;
    }
    visitor.After(event);
  }
}
template <typename Visitor>
void WalkLifetimes(const Session& session, Visitor& visitor) {
  WalkLifetimes(session, EventId(0), EventId(static_cast<std::uint32_t>(session.events().size())),
                visitor);
}

// `address + bytes`, or the largest address if that overflows (only in damaged logs).
constexpr std::uint64_t EndAddress(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t end = address + bytes;
  return end < address ? ~std::uint64_t{0} : end;
}

// The ordinals of all devices that the log defines or that have an allocation, ascending.
std::vector<int> DeviceOrdinals(const Session& session);

}  // namespace memprof::analysis
