// The deaths at each event.
#include "analysis/store/lifetime_walk.h"

#include <algorithm>
#include <set>

namespace memprof::analysis {

Deaths::Deaths(const Session& session, EventId first)
    : session_(session), others_(session.other_deaths()) {
  const auto begin = std::partition_point(others_.begin(), others_.end(), [&](AllocationId id) {
    return session.record(id).death < first;
  });
  others_ = others_.subspan(static_cast<std::size_t>(begin - others_.begin()));
}

std::span<const AllocationId> Deaths::Several(EventId event, AllocationId own) {
  ids_.clear();
  while (!others_.empty() && session_.record(others_.front()).death <= event) {
    ids_.push_back(others_.front());
    others_ = others_.subspan(1);
  }
  if (own.valid() && session_.record(own).death == event &&
      std::find(ids_.begin(), ids_.end(), own) == ids_.end())
    ids_.push_back(own);
  std::sort(ids_.begin(), ids_.end());
  return ids_;
}

std::vector<int> DeviceOrdinals(const Session& session) {
  std::set<int> ordinals;
  for (const DeviceInfo& device : session.devices()) ordinals.insert(device.id);
  int last = kNoDevice;
  for (const AllocationRecord& a : session.records()) {
    if (a.device == last || a.device == kNoDevice) continue;
    last = a.device;
    ordinals.insert(last);
  }
  return {ordinals.begin(), ordinals.end()};
}

}  // namespace memprof::analysis
