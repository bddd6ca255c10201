// Sums over pools, at an instant and at their peaks.
#include "analysis/fragmentation/pool_use.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/store/lifetime_walk.h"
#include "analysis/store/private_pools.h"

namespace memprof::analysis {
namespace {

using DevicePool = std::pair<int, std::uint64_t>;  // device, pool

// Follows what pools hold.
class Peaks {
 public:
  explicit Peaks(const Session& session) : session_(session) {}

  void Birth(EventId event, AllocationId id) { Change(event, id, +1); }
  void Death(EventId event, AllocationId id) { Change(event, id, -1); }
  void After(EventId event) {
    if (session_.events().op(event.value) == Op::kFrameworkPool)
      made_.try_emplace(session_.events().address(event.value), event);
  }

  // Adds peaks and origins.
  void Finish(PoolUse* use) {
    const Held& held = held_[{use->device, use->pool}];
    use->peak_reserved_bytes = held.peaks[0];
    use->peak_allocated_bytes = held.peaks[1];
    if (use->pool == 0) return;
    const auto made = made_.find(use->pool);
    use->made = made == made_.end() ? held.first : made->second;
  }

 private:
  struct Held {
    std::uint64_t bytes[2] = {}, peaks[2] = {};  // reserved, allocated
    EventId first;
  };

  void Change(EventId event, AllocationId id, int sign) {
    const AllocationRecord& record = session_.record(id);
    if (record.layer != Layer::kSegment && record.layer != Layer::kBlock) return;
    Held& held = held_[{record.device, PrivatePoolOf(session_, id)}];
    if (!held.first.valid()) held.first = event;
    const bool block = record.layer == Layer::kBlock;
    held.bytes[block] += sign > 0 ? record.bytes : 0 - record.bytes;
    held.peaks[block] = std::max(held.peaks[block], held.bytes[block]);
  }

  const Session& session_;
  std::map<DevicePool, Held> held_;
  std::map<std::uint64_t, EventId> made_;
};

}  // namespace

std::vector<PoolUse> PoolUses(const Session& session, const FragmentationReport& report) {
  std::set<int> devices, with_private;
  for (const PoolFragmentation& pool : report.pools) devices.insert(pool.device);
  std::map<DevicePool, PoolUse> uses;
  for (const AllocationRecord& record : session.records()) {
    if (record.layer != Layer::kSegment || !devices.contains(record.device)) continue;
    if (record.pool() != 0) with_private.insert(record.device);
    uses[{record.device, record.pool()}] = {.device = record.device, .pool = record.pool()};
  }
  if (with_private.empty()) return {};
  for (const PoolFragmentation& pool : report.pools) {
    PoolUse& use = uses[{pool.device, pool.private_pool}];
    use.reserved_bytes += pool.reserved_bytes;
    use.allocated_bytes += pool.allocated_bytes;
  }
  Peaks peaks(session);
  WalkLifetimes(session, peaks);
  std::vector<PoolUse> listed;
  for (auto& [key, use] : uses) {
    if (!with_private.contains(use.device)) continue;
    peaks.Finish(&use);
    listed.push_back(use);
  }
  const auto order = [](const PoolUse& use) {
    return std::make_tuple(use.device, use.pool != 0, ~use.reserved_bytes, ~use.peak_reserved_bytes,
                           use.pool);
  };
  std::sort(listed.begin(), listed.end(),
            [&](const PoolUse& a, const PoolUse& b) { return order(a) < order(b); });
  return listed;
}

}  // namespace memprof::analysis
