// Follows pool samples.
#include "analysis/timeline/pool_changes.h"

#include <algorithm>
#include <compare>
#include <set>

#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

// Follows one session event by event and keeps, per device, the bytes beyond live allocations.
class PoolReader {
 public:
  PoolReader(const Session& session, std::map<int, PoolChanges>* changes)
      : session_(session), changes_(*changes) {}

  void Birth(EventId, AllocationId id) { Live(id, true); }
  void Death(EventId, AllocationId id) { Live(id, false); }
  void After(EventId event);

 private:
  struct PoolState {
    std::uint64_t sampled = 0, live = 0;
    std::uint64_t beyond() const { return sampled > live ? sampled - live : 0; }
  };
  struct PoolKey {
    Layer layer = Layer::kStreamOrdered;  // of what lies in it: stream-ordered or graph memory
    std::uint64_t handle = 0;
    int device = kNoDevice;
    auto operator<=>(const PoolKey&) const = default;
  };

  void Live(AllocationId id, bool born);
  void Change(PoolKey key, std::uint64_t sampled, bool set_sample, std::int64_t live_change);
  void Sample(EventId event);
  void Destroy(EventId event);

  const Session& session_;
  std::map<int, PoolChanges>& changes_;
  std::map<PoolKey, PoolState> pools_;
  std::map<int, std::uint64_t> beyond_;
  std::set<int> changed_;
};

// Graph memory names no pool.
void PoolReader::Live(AllocationId id, bool born) {
  const AllocationRecord& a = session_.record(id);
  if (a.layer != Layer::kStreamOrdered && a.layer != Layer::kGraph) return;
  const auto bytes = static_cast<std::int64_t>(a.bytes);
  Change({a.layer, a.pool(), a.device}, 0, false, born ? bytes : -bytes);
}

void PoolReader::Change(PoolKey key, std::uint64_t sampled, bool set_sample,
                        std::int64_t live_change) {
  PoolState& pool = pools_[key];
  std::uint64_t& sum = beyond_[key.device];
  sum -= pool.beyond();
  if (set_sample) pool.sampled = sampled;
  pool.live += static_cast<std::uint64_t>(live_change);
  sum += pool.beyond();
  changed_.insert(key.device);
}

void PoolReader::After(EventId event) {
  const Op op = session_.events().op(event.value);
  if (op == Op::kPoolSample) Sample(event);
  if (op == Op::kPoolDestroy) Destroy(event);
  changed_.erase(kNoDevice);  // only a damaged log has such a pool
  for (const int device : changed_) {
    const std::uint64_t bytes = beyond_[device];
    const auto known = changes_.find(device);
    const bool same = known == changes_.end()
                          ? bytes == 0
                          : known->second.bytes(known->second.size() - 1) == bytes;
    if (!same) changes_[device].Add(event.value, bytes);
  }
  changed_.clear();
}

// A pool of another process is never sampled; if a log has a sample all the same, it is ignored.
void PoolReader::Sample(EventId event) {
  const EventTable& events = session_.events();
  const std::size_t i = event.value;
  if (events.layer(i) == Layer::kImported) return;
  const bool graph = events.layer(i) == Layer::kGraph;
  Change({graph ? Layer::kGraph : Layer::kStreamOrdered, graph ? 0 : events.address(i),
          events.device(i)},
         events.bytes(i), true, 0);
}

// The pool may be of another device than was current.
void PoolReader::Destroy(EventId event) {
  const EventTable& events = session_.events();
  const std::size_t i = event.value;
  for (const auto& [key, pool] : pools_) {
    if (key.layer == Layer::kStreamOrdered && key.handle == events.address(i) &&
        (key.device == events.device(i) || events.device(i) == kNoDevice))
      Change(key, 0, true, 0);
  }
}

}  // namespace

std::size_t PoolChanges::From(std::uint32_t event) const {
  return static_cast<std::size_t>(std::lower_bound(event_.begin(), event_.end(), event) -
                                  event_.begin());
}

std::uint64_t PoolChanges::After(EventId event) const {
  const std::size_t next = event.valid() ? From(event.value + 1) : 0;
  return next == 0 ? 0 : bytes_[next - 1];
}

DevicePools::DevicePools(const Session& session) {
  const EventTable& events = session.events();
  std::uint32_t first = 0;
  while (first < events.size() && events.op(first) != Op::kPoolSample) ++first;
  if (first == events.size()) return;
  PoolReader reader(session, &changes_);
  WalkLifetimes(session, reader);
}

const PoolChanges& DevicePools::Of(int device) const {
  static const auto* const kNone = new PoolChanges;
  const auto at = changes_.find(device);
  return at == changes_.end() ? *kNone : at->second;
}

std::shared_ptr<const DevicePools> PoolsOf(const Session& session) {
  return session.facts().Get<DevicePools>([&] { return DevicePools(session); });
}

}  // namespace memprof::analysis
