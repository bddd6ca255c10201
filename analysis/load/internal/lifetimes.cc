// Turns events into lifetimes: matches frees to allocations, follows mappings of VMM memory, and
// finds what lies in what.
#include "analysis/load/internal/lifetimes.h"

#include <algorithm>
#include <utility>

#include "analysis/load/internal/lifetime_finder.h"

namespace memprof::analysis {
namespace lifetimes {

// Counts the events, and finds which indices are needed and which frees failed.
void LifetimeFinder::Prepare() {
  std::array<bool, 256> seen{};
  std::uint64_t births = 0, failed = 0, loads = 0;
  for (std::size_t i = 0; i < raw_.kinds.size(); ++i) {
    const EventKind& kind = raw_.kinds[i];
    if (raw_.rows_of_kind[i] == 0) continue;
    if (kind.op == Op::kFreeFailed) failed += raw_.rows_of_kind[i];
    if (kind.op == Op::kModuleLoad) loads += raw_.rows_of_kind[i];
    managed_.used |= IsMark(kind.op);
    if (kind.op == Op::kAlloc || kind.op == Op::kModuleLoad) births += raw_.rows_of_kind[i];
    if (kind.op == Op::kAlloc) seen[static_cast<std::uint8_t>(kind.layer)] = true;
  }
  const auto has = [&](Layer layer) { return seen[static_cast<std::uint8_t>(layer)]; };
  blocks_.used = has(Layer::kTensor);
  segments_.used = blocks_.used || has(Layer::kBlock);
  frameworks_ = segments_.used || has(Layer::kSegment);
  driver_.used = frameworks_ || has(Layer::kImported);
  events_.Reserve(order_.size(), births);
  if (failed > 0) FindFailedFrees();
  if (loads > 0) code_.Find(raw_, order_);
}

void LifetimeFinder::FindFailedFrees() {
  void_free_.resize(order_.size());
  std::vector<std::uint32_t> last_free;  // of each thread
  for (std::uint32_t i = 0; i < order_.size(); ++i) {
    const EventKind& kind = raw_.KindOf(order_[i]);
    const std::size_t thread = kind.thread + 1u;
    if (thread >= last_free.size()) last_free.resize(thread + 1, kNone);
    if (kind.op == Op::kFree) {
      last_free[thread] = i;
    } else if (kind.op == Op::kFreeFailed && kind.layer != Layer::kModule) {
      const std::uint32_t freed = std::exchange(last_free[thread], kNone);
      if (freed != kNone && raw_.rows[order_[freed]].address == raw_.rows[order_[i]].address)
        void_free_[freed] = 1;
    }
  }
}

// The first row at or after every kForgetEvery-th event: while the table of events grows, memory of
// rows that were read is freed.
std::vector<std::uint32_t> LifetimeFinder::LeastRowsNeeded() const {
  std::vector<std::uint32_t> least(order_.size() / kForgetEvery + 1,
                                   static_cast<std::uint32_t>(raw_.rows.size()));
  for (std::size_t i = order_.size(); i-- > 0;) {
    const std::size_t block = i / kForgetEvery;
    if ((i + 1) % kForgetEvery == 0 && block + 1 < least.size()) least[block] = least[block + 1];
    least[block] = std::min(least[block], order_[i]);
  }
  return least;
}

void LifetimeFinder::Take(std::uint32_t i, Event* event) {
  switch (event->op) {
    case Op::kAlloc:
      return Allocate(i, event->layer, event);
    case Op::kFree:
      return Free(i, event);
    case Op::kMap:
      return Map(i, event);
    case Op::kUnmap:
      return Unmap(i, event);
    case Op::kContextDestroy:
      return DestroyContext(i, *event);
    case Op::kDeviceReset:
      return ResetDevice(i, *event);
    case Op::kModuleLoad:
      if (event->address != 0) Allocate(i, Layer::kModule, event);
      return;
    case Op::kModuleUnload:
    case Op::kModuleGlobal:
      return OfModule(i, event);
    case Op::kPrefetch:
    case Op::kAdvise:
    case Op::kDiscard:
      event->allocation = AllocationId(managed_.At(event->address, allocations_));
      return;
    case Op::kFrameworkPool:
      return private_pools_.Join(event->address, event->aux0);
    case Op::kFreeRequested:
    case Op::kStreamUse:
      event->allocation = AllocationId(
          live_.Find(Space::kBlock, event->address, event->device, false, allocations_));
      return;
    case Op::kUnreachable:
    case Op::kExported:
      event->allocation = AllocationId(
          live_.Find(Space::kDevice, event->address, event->device, true, allocations_));
      return;
    case Op::kHeld: {
      // A scan of host memory names the layer: that of the driver. Other looks do not.
      Id id = event->layer == Layer::kUnspecified
                  ? live_.Find(Space::kBlock, event->address, event->device, false, allocations_)
                  : kNone;
      if (id == kNone)
        id = live_.Find(Space::kDevice, event->address, event->device, true, allocations_);
      if (id == kNone) id = ImportAround(*event);
      event->allocation = AllocationId(id);
      return;
    }
    default:
      return;
  }
}

RangeIndex* LifetimeFinder::IndexOf(const AllocationRecord& allocation) {
  switch (SpaceOf(allocation)) {
    case Space::kDevice:
    case Space::kHost:
    case Space::kReservation:
      return &driver_;
    case Space::kSegment:
      return &segments_;
    case Space::kBlock:
      return &blocks_;
    default:
      return nullptr;
  }
}

// The lifetime that `event` begins.
AllocationRecord LifetimeFinder::Fresh(std::uint32_t i, Layer layer, const Event& event) const {
  AllocationRecord fresh;
  fresh.layer = layer;
  fresh.device = OccupiesHost(layer) ? kNoDevice : event.device;
  fresh.birth = EventId(i);
  fresh.address = event.address;
  fresh.bytes = event.bytes;
  fresh.stack = event.stack;
  if (layer == Layer::kBlock || layer == Layer::kStreamOrdered) fresh.extra = event.aux0;
  if (layer == Layer::kSegment) fresh.extra = event.aux1;
  if (layer == Layer::kTensor) fresh.extra = event.label;
  if (layer == Layer::kModule) {
    const std::uint64_t* const less = code_.LessThanLogged(i);
    fresh.bytes = less != nullptr ? *less : event.aux0;
    fresh.extra = event.bytes;
  }
  constexpr auto kKinds = static_cast<std::uint64_t>(ImportKind::kOwn) + 1;
  if (layer == Layer::kImported && event.aux1 < kKinds)
    fresh.import_kind = static_cast<ImportKind>(event.aux1);
  return fresh;
}

void LifetimeFinder::Allocate(std::uint32_t i, Layer layer, Event* event) {
  const AllocationRecord fresh = Fresh(i, layer, *event);
  const Space space = SpaceOf(fresh);
  if (space == Space::kNowhere) return;
  const Id id = static_cast<Id>(allocations_.size());
  EndOlder(space, fresh, i);
  allocations_.push_back(fresh);
  event->allocation = AllocationId(id);
  live_.Insert(space, fresh.address, id);
  managed_.Insert(fresh, id);
  if (RangeIndex* const index = IndexOf(fresh)) index->Insert(fresh, id);
  if (frameworks_) {
    first_child_.push_back(kNone);
    next_sibling_.push_back(kNone);
    if (IsFrameworkLayer(layer)) FindParent(id);
    if (layer == Layer::kBlock && event->aux1 != 0) NoteCapture(id, event->aux1);
  }
  if (OwnedByContext(fresh) && event->context != kNone)
    context_members_[event->context].push_back(id);
  else if (OwnedByContext(fresh) || space == Space::kDevice)
    DeviceMembers(fresh.device).push_back(id);
}

// The segment of the block and everything else that was allocated in the same capture share a pool.
void LifetimeFinder::NoteCapture(Id block, std::uint64_t capture) {
  const AllocationId parent = allocations_[block].parent;
  if (parent.valid() && allocations_[parent.value].layer == Layer::kSegment)
    private_pools_.Join(allocations_[parent.value].pool(), capture);
}

// The end of a module, or a look-up of one of its globals. A module from before the log is neither
// a missed allocation nor an anomaly.
void LifetimeFinder::OfModule(std::uint32_t i, Event* event) {
  const bool unload = event->op == Op::kModuleUnload;
  const std::uint64_t module = unload ? event->address : event->aux0;
  const Id id = live_.Find(Space::kModule, module, event->device, true, allocations_);
  if (id == kNone) return;
  event->allocation = AllocationId(id);
  if (unload) End(id, i, EndReason::kFreed);
}

void LifetimeFinder::Free(std::uint32_t i, Event* event) {
  if (!void_free_.empty() && void_free_[i]) return;
  const Id id = FindFreed(*event);
  if (id == kNone) {
    if (!FreeEndedBelow(i, event)) Count(log::Anomaly::kUnmatchedFrees);
    return;
  }
  const AllocationRecord& freed = allocations_[id];
  if (event->layer != Layer::kUnspecified && IsForeignFree(freed.layer, event->layer))
    Count(log::Anomaly::kForeignFrees);
  event->layer = freed.layer;
  event->device = freed.device;
  if (event->bytes == 0) event->bytes = freed.bytes;
  if (SpaceOf(freed) == Space::kPhysical && mappings_.Mapped(id)) {
    live_.Erase(Space::kPhysical, freed.address, id);
    released_[id] = 1;
    return;
  }
  event->allocation = AllocationId(id);
  End(id, i, EndReason::kFreed);
}

// A framework may report the end of a piece after the memory below it was freed; this is then its
// end, and no anomaly.
bool LifetimeFinder::FreeEndedBelow(std::uint32_t i, Event* event) {
  if (!frameworks_) return false;
  const Space space = SpaceOf(event->layer);
  const Id id = ended_below_.Find(space, event->address, event->device, false, allocations_);
  if (id == kNone) return false;
  ended_below_.Erase(space, event->address, id);
  SetDeath(id, i, EndReason::kFreed);
  event->allocation = AllocationId(id);
  if (event->bytes == 0) event->bytes = allocations_[id].bytes;
  return true;
}

void LifetimeFinder::Map(std::uint32_t i, Event* event) {
  if (!GivesAddress(event->layer)) return;
  const Id id = live_.Find(Space::kPhysical, event->aux0, event->device, true, allocations_);
  Unmap(i, event);  // a mapping in the way means that its unmap was missed
  const std::uint64_t bytes = std::max<std::uint64_t>(event->bytes, 1);
  if (id != kNone && allocations_[id].alive()) mappings_.Map(event->address, bytes, id);
}

void LifetimeFinder::Unmap(std::uint32_t i, Event* event) {
  if (!GivesAddress(event->layer)) return;
  const std::uint64_t bytes = std::max<std::uint64_t>(event->bytes, 1);
  mappings_.Unmap(event->address, bytes, [&](Id id) {
    const auto released = released_.find(id);
    if (released == released_.end()) return;
    released_.erase(released);
    if (!event->allocation.valid()) event->allocation = AllocationId(id);
    End(id, i, EndReason::kFreed);
  });
}

}  // namespace lifetimes

void FindLifetimes(RawEvents raw, const std::vector<std::uint32_t>& order,
                   const std::vector<ContextInfo>& contexts, EventTable* events,
                   AnomalyCounts* anomalies) {
  lifetimes::LifetimeFinder(std::move(raw), order, contexts, events, anomalies).Run();
}

}  // namespace memprof::analysis
