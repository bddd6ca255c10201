// Follows the memory in use through a part of a run.
#include "analysis/diff/use.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/peak/run_profile.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

// A visitor of WalkLifetimes.
class UseWalk {
 public:
  UseWalk(const Session& session, EventId from) : session_(session), leaf_(session), from_(from) {}

  void Birth(EventId, AllocationId id) {
    if (DeviceUse* use = Of(id)) use->after += session_.record(id).bytes;
  }
  void Death(EventId, AllocationId id) {
    if (DeviceUse* use = Of(id)) use->after -= session_.record(id).bytes;
  }
  void After(EventId event) {
    // Until `from` there is no peak yet: it begins with what is in use then.
    const bool begins = !from_.valid() || event <= from_;
    for (DeviceUse* use : std::exchange(changed_, {})) {
      if (from_.valid() && begins) {
        use->before = use->peak = use->after;
        use->peak_event = from_;
      } else if (use->after > use->peak) {
        use->peak = use->after;
        use->peak_event = event;
      }
    }
  }
  std::vector<DeviceUse> Take() {
    std::vector<DeviceUse> list;
    for (auto& [device, use] : uses_) list.push_back(use);
    return list;
  }

 private:
  DeviceUse* Of(AllocationId id) {
    if (!leaf_.Counts(id)) return nullptr;
    const int device = session_.record(id).device;
    const auto [at, made] = uses_.try_emplace(device);
    if (made) at->second = {.device = device, .peak_event = from_};
    if (std::find(changed_.begin(), changed_.end(), &at->second) == changed_.end())
      changed_.push_back(&at->second);
    return &at->second;
  }

  const Session& session_;
  const LeafMemory leaf_;
  const EventId from_;
  std::map<int, DeviceUse> uses_;
  std::vector<DeviceUse*> changed_;  // since the last After; values of a map stay where they are
};

}  // namespace

std::vector<DeviceUse> UseBetween(const Session& session, EventId from, EventId to) {
  UseWalk walk(session, from);
  const std::size_t events = session.events().size();
  const std::size_t end = to.valid() ? std::min<std::size_t>(to.value + 1u, events) : 0;
  WalkLifetimes(session, EventId(0), EventId(static_cast<std::uint32_t>(end)), walk);
  return walk.Take();
}

const DeviceUse* HighestRise(const std::vector<DeviceUse>& uses) {
  const auto rise = [](const DeviceUse& use) { return use.peak - use.before; };
  const auto at =
      std::max_element(uses.begin(), uses.end(),
                       [&](const DeviceUse& a, const DeviceUse& b) { return rise(a) < rise(b); });
  return at == uses.end() ? nullptr : &*at;
}

AllocationSet AllocatedAfter(const Session& session, EventId from) {
  std::vector<bool> chosen(session.records().size());
  for (std::size_t i = 0; i < chosen.size(); ++i)
    chosen[i] = !from.valid() || session.records()[i].birth > from;
  return AllocationSet(std::move(chosen));
}

}  // namespace memprof::analysis
