// Divides the entry of a ledger by what memory is for.
#include "analysis/budget/budget.h"

#include <algorithm>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "analysis/peak/peak.h"
#include "analysis/store/lifetime_walk.h"
#include "analysis/store/private_pools.h"
#include "analysis/timeline/timeline.h"

namespace memprof::analysis {
namespace {

const DeviceTimeline* TimelineOf(const DeviceTimelines& timelines, int device) {
  for (const DeviceTimeline& timeline : timelines)
    if (timeline.device == device) return &timeline;
  return nullptr;
}

// A framework keeps what it once took, so the highest use lasts long: then the instant of the peak
// (peak.h), at which most of it was in blocks, if the same memory was held then.
LedgerEntry MostInUse(const Session& session, const std::vector<MemorySample>& samples,
                      const DeviceTimeline& timeline, const LedgerEntry& highest) {
  for (const Peak& peak : *PeaksOf(session)) {
    if (peak.device != timeline.device) continue;
    const std::optional<LedgerEntry> then = LedgerAt(session, samples, timeline, peak.time);
    if (!then || then->by_layer != highest.by_layer || then->pools_bytes != highest.pools_bytes)
      continue;
    LedgerEntry entry = highest;
    entry.sample.time = peak.time;
    entry.sample.event = peak.event;
    entry.step = peak.step;
    return entry;
  }
  return highest;
}

// Gives the memory of the driver to its parts, never more than there is.
class Division {
 public:
  explicit Division(std::uint64_t bytes) : left_(bytes) {}
  std::uint64_t Take(std::uint64_t bytes) {
    const std::uint64_t taken = std::min(bytes, left_);
    left_ -= taken;
    return taken;
  }
  std::uint64_t left() const { return left_; }

 private:
  std::uint64_t left_;
};

}  // namespace

std::uint64_t DeviceBudget::outside_bytes() const {
  const std::uint64_t used = total_bytes - free_bytes;
  return used - std::min(used, others_bytes + kv_cache_bytes());
}

Budgets::Budgets(const Session& session, Symbols& symbols)
    : session_(session), purposes_(session, symbols), pools_(FindPoolUsages(session)) {
  if (pools_.empty()) return;
  devices_of_process_.resize(session.processes().size());
  for (const AllocationRecord& record : session.records())
    if (OccupiesDevice(record.layer))
      devices_of_process_[session.ProcessOf(record.birth)].insert(record.device);
}

std::vector<const PoolUsage*> Budgets::PoolsOf(int device) const {
  std::vector<const PoolUsage*> pools;
  for (const PoolUsage& pool : pools_) {
    const std::set<int>& devices = devices_of_process_[pool.process];
    if (pool.device == device ||
        (pool.device == kNoDevice && (devices.empty() || devices.contains(device))))
      pools.push_back(&pool);
  }
  return pools;
}

MostActivations Budgets::ActivationsOf(int device) {
  struct Visitor {
    const Session& session;
    Purposes& purposes;
    int device;
    std::uint64_t now = 0;
    MostActivations most;

    bool Counts(AllocationId id) {
      const AllocationRecord& record = session.record(id);
      if (record.device != device || PrivatePoolOf(session, id) != 0) return false;
      if (record.layer != Layer::kBlock &&
          (!OccupiesDevice(record.layer) || purposes.IsDivided(id)))
        return false;
      return purposes.Of(id) == Purpose::kActivations;
    }
    void Birth(EventId, AllocationId id) {
      if (Counts(id)) now += session.record(id).bytes;
    }
    void Death(EventId, AllocationId id) {
      if (Counts(id)) now -= session.record(id).bytes;
    }
    void After(EventId event) {
      if (now > most.bytes) most = {now, session.events().time(event.value)};
    }
  };
  Visitor visitor{session_, purposes_, device, 0, {}};
  WalkLifetimes(session_, visitor);
  return visitor.most;
}

std::vector<int> Budgets::devices() const {
  std::vector<int> devices;
  for (const DeviceTimeline& timeline : *TimelinesOf(session_))
    if (!SamplesOf(session_)->Of(timeline.device).empty()) devices.push_back(timeline.device);
  return devices;
}

std::optional<DeviceBudget> Budgets::Of(int device, std::optional<TimeNs> time) {
  const auto timelines = TimelinesOf(session_);
  const DeviceTimeline* timeline = TimelineOf(*timelines, device);
  const auto all_samples = SamplesOf(session_);
  const std::vector<MemorySample>& samples = all_samples->Of(device);
  if (timeline == nullptr || samples.empty()) return std::nullopt;
  std::optional<LedgerEntry> entry;
  if (time) {
    entry = LedgerAt(session_, samples, *timeline, *time);
  } else {
    entry = BuildLedger(session_, samples, *timeline, FindHighestUse(session_, samples, device))
                .highest;
  }
  if (!entry) return std::nullopt;
  if (!time) entry = MostInUse(session_, samples, *timeline, *entry);
  DeviceBudget budget{.device = device, .ledger = *entry};
  budget.total_bytes = entry->sample.total_bytes;
  budget.free_bytes = entry->sample.free_bytes;
  budget.others_bytes = entry->sample.others_bytes.value_or(0);
  budget.driver_pools_bytes = entry->pools_bytes;
  // The size of code is how far free memory fell while it was loaded: too much where another
  // process allocated meanwhile. It has the context, too, if loading made one.
  const std::uint64_t code = entry->by_layer[static_cast<std::size_t>(Layer::kModule)];
  budget.code_bytes = code - std::min(code, entry->elsewhere_bytes);
  budget.elsewhere_bytes = entry->elsewhere_bytes - (code - budget.code_bytes);
  // The recorder takes the first sample right after the context was made.
  const auto first = LedgerAt(session_, samples, *timeline, samples.front().time);
  budget.context_bytes = std::min(first->untracked_bytes, entry->untracked_bytes);
  budget.unexplained_bytes = entry->untracked_bytes - budget.context_bytes;
  Divide(&budget);
  return budget;
}

void Budgets::Divide(DeviceBudget* budget) {
  absl::flat_hash_set<std::string> pool_names;
  for (const PoolUsage& pool : pools_) pool_names.insert(pool.name);
  const std::vector<AllocationId> live = session_.LiveAt(
      budget->ledger.sample.time, kDeviceLayers | LayerBit(Layer::kSegment) |
                                      LayerBit(Layer::kBlock) | LayerBit(Layer::kTensor));
  // Memory that has a tensor with the name of a pool is that pool's.
  absl::flat_hash_set<std::uint32_t> in_pool;
  std::uint64_t total = 0;
  for (const AllocationId id : live) {
    const AllocationRecord& record = session_.record(id);
    if (record.device != budget->device) continue;
    if (OccupiesDevice(record.layer)) total += record.bytes;
    if (record.layer != Layer::kTensor) continue;
    const TensorInfo* tensor = session_.tensor(record.tensor());
    if (tensor != nullptr && pool_names.contains(tensor->name) && record.parent.valid())
      in_pool.insert(record.parent.value);
  }
  Division division(total);
  absl::flat_hash_map<std::uint64_t, std::uint64_t> graphs;  // by pool
  absl::flat_hash_map<std::uint32_t, std::uint64_t> taken;   // of segments of private pools
  for (const AllocationId id : live) {
    const AllocationRecord& record = session_.record(id);
    const bool driver = OccupiesDevice(record.layer);
    if (record.device != budget->device || (!driver && record.layer != Layer::kBlock)) continue;
    if (driver && purposes_.IsDivided(id) && !in_pool.contains(id.value)) continue;
    const Purpose purpose = in_pool.contains(id.value) ? Purpose::kKvCache : purposes_.Of(id);
    const std::uint64_t bytes = division.Take(record.bytes);
    if (record.parent.valid()) taken[record.parent.value] += bytes;
    const std::uint64_t pool = PrivatePoolOf(session_, id);
    const bool stays = purpose == Purpose::kWeights || purpose == Purpose::kKvCache ||
                       purpose == Purpose::kCommunication;
    if (record.layer == Layer::kGraph || (pool != 0 && !stays))
      graphs[pool] += bytes;
    else
      budget->by_purpose[static_cast<std::size_t>(purpose)] += bytes;
  }
  for (const AllocationId id : live) {  // what a private pool has beyond its blocks
    const AllocationRecord& record = session_.record(id);
    if (record.layer != Layer::kSegment || record.pool() == 0) continue;
    if (record.device != budget->device) continue;
    const std::uint64_t blocks = std::min(record.bytes, taken[id.value]);
    graphs[record.pool()] += division.Take(record.bytes - blocks);
  }
  for (const auto& [pool, bytes] : graphs)
    if (bytes > 0) budget->graphs.push_back({pool, bytes});
  std::sort(budget->graphs.begin(), budget->graphs.end(), [](const auto& a, const auto& b) {
    return std::pair(b.bytes, a.pool) < std::pair(a.bytes, b.pool);
  });
  budget->cached_bytes = division.left();
}

}  // namespace memprof::analysis
