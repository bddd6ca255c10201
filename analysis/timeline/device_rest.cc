// Walks the known memory of all devices from sample to sample.
#include "analysis/timeline/device_rest.h"

#include <algorithm>

#include "analysis/store/lifetime_walk.h"
#include "analysis/timeline/ledger.h"
#include "analysis/timeline/pool_changes.h"

namespace memprof::analysis {
namespace {

class RestFinder {
 public:
  explicit RestFinder(const Session& session)
      : session_(session), samples_(SamplesOf(session)), pools_(PoolsOf(session)) {
    for (const int device : DeviceOrdinals(session)) {
      if (samples_->Of(device).empty()) continue;
      places_.push_back({device, &samples_->Of(device), PoolCursor(pools_->Of(device)),
                         std::vector<std::uint64_t>(session.processes().size() + 1)});
    }
  }

  void Birth(EventId, AllocationId id) { Change(id, true); }
  void Death(EventId, AllocationId id) { Change(id, false); }
  void After(EventId event) {
    for (Place& place : places_) {
      const std::uint64_t known = place.known + place.pools.After(event);
      const bool sampled =
          place.next < place.samples->size() && (*place.samples)[place.next].event == event;
      if (sampled) Explain(place, (*place.samples)[place.next++], known);
      if (place.rest.changes.empty()) continue;
      const RestChange& now = place.rest.changes.back();
      const std::uint64_t all = known + now.untracked + now.others;
      place.rest.most_used = std::max(
          place.rest.most_used, std::min(all - std::min(all, now.elsewhere), place.rest.capacity));
    }
  }

  DeviceRests Finish() {
    DeviceRests rests;
    for (Place& place : places_) rests[place.device] = std::move(place.rest);
    return rests;
  }

 private:
  struct Place {
    int device;
    const std::vector<MemorySample>* samples;
    PoolCursor pools;
    std::vector<std::uint64_t> by_process;
    std::uint64_t known = 0;  // without pools
    std::size_t next = 0;     // sample
    DeviceRest rest = {};
  };

  void Change(AllocationId id, bool born) {
    const AllocationRecord& a = session_.record(id);
    if (!OccupiesDevice(a.layer) && a.layer != Layer::kModule) return;
    for (Place& place : places_) {
      if (place.device != a.device) continue;
      std::uint64_t& own = place.by_process[ProcessOf(a.birth)];
      own = born ? own + a.bytes : own - a.bytes;
      place.known = born ? place.known + a.bytes : place.known - a.bytes;
    }
  }
  std::size_t ProcessOf(EventId event) const {
    return std::min<std::size_t>(session_.ProcessOf(event), session_.processes().size());
  }

  void Explain(Place& place, const MemorySample& sample, std::uint64_t known) const {
    DeviceRest& rest = place.rest;
    const std::uint64_t used = sample.used_bytes();
    RestChange change{.event = sample.event.value};
    const std::uint64_t unknown = used - std::min(used, known);
    if (sample.others_bytes) {
      // The other processes of the session are known.
      const std::uint64_t elsewhere =
          place.known - place.by_process[ProcessOf(sample.event)] + sample.contexts_of_others;
      change.others = *sample.others_bytes - std::min(*sample.others_bytes, elsewhere);
    } else if (!rest.changes.empty()) {
      change.others = std::min(rest.changes.back().others, unknown);
    }
    const std::uint64_t explained = known + change.others;
    change.untracked = used - std::min(used, explained);
    change.elsewhere = explained - std::min(used, explained);
    rest.capacity = std::max(rest.capacity, sample.total_bytes);
    rest.changes.push_back(change);
  }

  const Session& session_;
  const std::shared_ptr<const MemorySamples> samples_;
  const std::shared_ptr<const DevicePools> pools_;
  std::vector<Place> places_;
};

}  // namespace

void RestCursor::Seek(std::uint32_t event) {
  if (rest_ == nullptr) return;
  const auto at =
      std::lower_bound(rest_->changes.begin(), rest_->changes.end(), event,
                       [](const RestChange& a, std::uint32_t e) { return a.event < e; });
  next_ = static_cast<std::size_t>(at - rest_->changes.begin());
}

DeviceRests FindDeviceRests(const Session& session) {
  RestFinder finder(session);
  WalkLifetimes(session, finder);
  return finder.Finish();
}

std::shared_ptr<const DeviceRests> RestsOf(const Session& session) {
  return session.facts().Get<DeviceRests>([&] { return FindDeviceRests(session); });
}

}  // namespace memprof::analysis
