// Replays events into lifetimes: matches frees to allocations, follows mappings of VMM memory and
// the ends that contexts and devices bring, and finds what lies in what.
#include "analysis/load/internal/event_replay.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "analysis/load/internal/spaces.h"
#include "analysis/store/private_pools.h"

namespace memprof::analysis {
namespace {

using lifetimes::AddressTable;
using lifetimes::Id;
using lifetimes::IsForeignFree;
using lifetimes::kNone;
using lifetimes::ManagedRanges;
using lifetimes::Mappings;
using lifetimes::OwnedByContext;
using lifetimes::RangeIndex;
using lifetimes::Space;
using lifetimes::SpaceOf;

class Replay {
 public:
  Replay(RawEvents raw, const std::vector<std::uint32_t>& order,
         const std::vector<ContextInfo>& contexts, EventTable* events, AnomalyCounts* anomalies)
      : raw_(std::move(raw)),
        order_(order),
        contexts_(contexts),
        events_(*events),
        anomalies_(*anomalies),
        allocations_(*events->mutable_records()),
        context_members_(contexts_.size()) {}

  void Run() {
    Prepare();
    const std::vector<std::uint32_t> needed = LeastRowsNeeded();
    for (std::uint32_t i = 0; i < order_.size(); ++i) {
      if (i % kForgetEvery == 0) raw_.ForgetBefore(needed[i / kForgetEvery]);
      Event event = raw_.At(order_[i]);
      Take(i, &event);
      events_.Append(event);
    }
    private_pools_.Settle(&allocations_);
    events_.Finish();
  }

 private:
  static constexpr std::uint32_t kForgetEvery = 1 << 18;  // events

  void Prepare();
  void FindFailedFrees();
  std::vector<std::uint32_t> LeastRowsNeeded() const;
  void Take(std::uint32_t i, Event* event);
  void Allocate(std::uint32_t i, Layer layer, Event* event);
  AllocationRecord Fresh(std::uint32_t i, Layer layer, const Event& event) const;
  void OfModule(std::uint32_t i, Event* event);
  void Free(std::uint32_t i, Event* event);
  void Map(std::uint32_t i, Event* event);
  void Unmap(std::uint32_t i, Event* event);
  void DestroyContext(std::uint32_t i, const Event& event);
  void ResetDevice(std::uint32_t i, const Event& event);

  void FindParent(Id id);
  void NoteCapture(Id block, std::uint64_t capture);
  Id FirstPages(const AllocationRecord& block) const;
  void EndOlder(Space space, const AllocationRecord& fresh, std::uint32_t event);
  Id FindFreed(const Event& event) const;
  Id FindImport(std::uint64_t address, int device) const;
  bool FreeEndedBelow(std::uint32_t i, Event* event);
  void EndMembers(std::vector<Id>* members, std::uint32_t event, EndReason reason);
  void End(Id id, std::uint32_t event, EndReason reason);
  void EndChildren(Id id, std::uint32_t event);
  void SetDeath(Id id, std::uint32_t event, EndReason reason);
  RangeIndex* IndexOf(const AllocationRecord& allocation);
  std::vector<Id>& DeviceMembers(int device) {
    const std::size_t row = static_cast<std::size_t>(device + 1);
    if (row >= device_members_.size()) device_members_.resize(row + 1);
    return device_members_[row];
  }
  void Count(log::Anomaly anomaly) { ++anomalies_[static_cast<std::size_t>(anomaly)]; }

  RawEvents raw_;
  const std::vector<std::uint32_t>& order_;
  const std::vector<ContextInfo>& contexts_;
  EventTable& events_;
  AnomalyCounts& anomalies_;

  std::vector<AllocationRecord>& allocations_;
  std::vector<Id> first_child_, next_sibling_;  // empty where no framework layer was recorded
  bool frameworks_ = false;
  std::vector<char> void_free_;  // frees that failed; empty if none did

  PrivatePools private_pools_;
  AddressTable live_, ended_below_;
  RangeIndex driver_, segments_, blocks_;
  ManagedRanges managed_;
  Mappings mappings_;
  absl::flat_hash_map<Id, char> released_;        // VMM memory without a handle, still mapped
  std::vector<std::vector<Id>> context_members_;  // what each context owns
  std::vector<std::vector<Id>> device_members_;   // by device + 1: what ends with a reset
};

// Finds out how much there is, which indices are worth keeping, and which frees did not happen.
void Replay::Prepare() {
  std::array<bool, 256> seen{};
  std::uint64_t births = 0, failed = 0;
  for (std::size_t i = 0; i < raw_.kinds.size(); ++i) {
    const EventKind& kind = raw_.kinds[i];
    if (raw_.rows_of_kind[i] == 0) continue;
    if (kind.op == Op::kFreeFailed) failed += raw_.rows_of_kind[i];
    managed_.used |= IsMark(kind.op);
    if (kind.op == Op::kAlloc || kind.op == Op::kModuleLoad) births += raw_.rows_of_kind[i];
    if (kind.op == Op::kAlloc) seen[static_cast<std::uint8_t>(kind.layer)] = true;
  }
  const auto has = [&](Layer layer) { return seen[static_cast<std::uint8_t>(layer)]; };
  blocks_.used = has(Layer::kTensor);
  segments_.used = blocks_.used || has(Layer::kBlock);
  driver_.used = frameworks_ = segments_.used || has(Layer::kSegment);
  events_.Reserve(order_.size(), births);
  if (failed > 0) FindFailedFrees();
}

void Replay::FindFailedFrees() {
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

// The first row of those that come at or after every kForgetEvery-th event: while the table of
// events grows, what has been read shrinks.
std::vector<std::uint32_t> Replay::LeastRowsNeeded() const {
  std::vector<std::uint32_t> least(order_.size() / kForgetEvery + 1,
                                   static_cast<std::uint32_t>(raw_.rows.size()));
  for (std::size_t i = order_.size(); i-- > 0;) {
    const std::size_t block = i / kForgetEvery;
    if ((i + 1) % kForgetEvery == 0 && block + 1 < least.size()) least[block] = least[block + 1];
    least[block] = std::min(least[block], order_[i]);
  }
  return least;
}

void Replay::Take(std::uint32_t i, Event* event) {
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
    case Op::kUnreachable:
      event->allocation = AllocationId(
          live_.Find(Space::kDevice, event->address, event->device, true, allocations_));
      return;
    default:
      return;
  }
}

RangeIndex* Replay::IndexOf(const AllocationRecord& allocation) {
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
AllocationRecord Replay::Fresh(std::uint32_t i, Layer layer, const Event& event) const {
  AllocationRecord fresh;
  fresh.layer = layer;
  fresh.device = OccupiesHost(layer) ? kNoDevice : event.device;
  fresh.birth = EventId(i);
  fresh.address = event.address;
  fresh.bytes = event.bytes;
  fresh.stack = event.stack;
  if (layer == Layer::kBlock || layer == Layer::kStreamOrdered) fresh.second = event.aux0;
  if (layer == Layer::kSegment) fresh.second = event.aux1;
  if (layer == Layer::kTensor) fresh.second = event.label;
  if (layer == Layer::kModule) {
    fresh.bytes = event.aux0;
    fresh.second = event.bytes;
  }
  constexpr auto kKinds = static_cast<std::uint64_t>(ImportKind::kOwn) + 1;
  if (layer == Layer::kImported && event.aux1 < kKinds)
    fresh.import_kind = static_cast<ImportKind>(event.aux1);
  return fresh;
}

void Replay::Allocate(std::uint32_t i, Layer layer, Event* event) {
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

// What the block lies in, and what else was handed out in the same capture, share a pool.
void Replay::NoteCapture(Id block, std::uint64_t capture) {
  const AllocationId parent = allocations_[block].parent;
  if (parent.valid() && allocations_[parent.value].layer == Layer::kSegment)
    private_pools_.Share(allocations_[parent.value].second, capture);
}

// A module's end, or a look-up of one of its globals. A module that was there before the log is
// neither memory that we missed nor worth a word.
void Replay::OfModule(std::uint32_t i, Event* event) {
  const bool unload = event->op == Op::kModuleUnload;
  const std::uint64_t module = unload ? event->address : event->aux0;
  const Id id = live_.Find(Space::kModule, module, event->device, true, allocations_);
  if (id == kNone) return;
  event->allocation = AllocationId(id);
  if (unload) End(id, i, EndReason::kFreed);
}

// What was live at the address of something new has ended without our seeing it.
void Replay::EndOlder(Space space, const AllocationRecord& fresh, std::uint32_t event) {
  const Id older = live_.Find(space, fresh.address, fresh.device, false, allocations_);
  if (older != kNone) {
    if (space != Space::kTensor) Count(log::Anomaly::kDoubleAllocations);
    if (space == Space::kPhysical && mappings_.Mapped(older)) {
      live_.Erase(space, fresh.address, older);  // its handle is gone, its memory is not
      released_[older] = 1;
    } else {
      End(older, event, EndReason::kAddressReused);
    }
  }
  if (!frameworks_) return;
  const Id ended = ended_below_.Find(space, fresh.address, fresh.device, false, allocations_);
  if (ended != kNone) ended_below_.Erase(space, fresh.address, ended);
}

// An expandable segment grows by pages, each recorded as a segment; a block may span several, and
// lies in that which it begins in.
Id Replay::FirstPages(const AllocationRecord& block) const {
  const Id first = segments_.Beginning(block, allocations_);
  if (first == kNone || !allocations_[first].parent.valid()) return kNone;
  const Layer below = allocations_[allocations_[first].parent.value].layer;
  return below == Layer::kVmmPhysical ? first : kNone;
}

void Replay::FindParent(Id id) {
  AllocationRecord& inner = allocations_[id];
  Id parent = kNone;
  if (inner.layer == Layer::kTensor) parent = blocks_.Containing(inner, allocations_);
  if (parent == kNone && inner.layer != Layer::kSegment)
    parent = segments_.Containing(inner, allocations_);
  if (parent == kNone && inner.layer == Layer::kBlock) parent = FirstPages(inner);
  if (parent == kNone) parent = driver_.Containing(inner, allocations_);
  // Memory of a reservation is what is mapped there; many mappings have no single owner.
  if (parent == kNone || allocations_[parent].layer == Layer::kVmmAddress) {
    const Id mapped = mappings_.At(inner.address, inner.bytes);
    if (mapped != kNone) parent = mapped;
  }
  if (parent == kNone) return;
  inner.parent = AllocationId(parent);
  next_sibling_[id] = std::exchange(first_child_[parent], id);
}

Id Replay::FindFreed(const Event& event) const {
  const std::uint64_t address = event.address;
  const int device = event.device;
  const Layer layer = event.layer;
  const Space space = SpaceOf(layer);
  // A driver address is unique in its process, whatever device was current at the free.
  const bool any_device = !IsFrameworkLayer(layer);
  const auto find = [&](Space where) {
    return live_.Find(where, address, device, any_device, allocations_);
  };
  Id id = layer == Layer::kImported ? FindImport(address, device) : kNone;
  if (id == kNone) id = find(space == Space::kNowhere ? Space::kDevice : space);
  if (id == kNone && (space == Space::kDevice || space == Space::kNowhere)) id = find(Space::kHost);
  if (id == kNone && space == Space::kHost) id = find(Space::kDevice);
  if (id == kNone && !IsFrameworkLayer(layer)) id = FindImport(address, device);
  return id;
}

// What was imported is closed by the functions of the kind that it is seen as: an address, a
// handle, an array.
Id Replay::FindImport(std::uint64_t address, int device) const {
  for (const Space space : {Space::kDevice, Space::kPhysical, Space::kImport}) {
    const Id id = live_.Find(space, address, device, true, allocations_);
    if (id != kNone && allocations_[id].layer == Layer::kImported) return id;
  }
  return kNone;
}

void Replay::Free(std::uint32_t i, Event* event) {
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

// A framework may say that a piece ends after the memory below it was given back; that is then
// its end, and nothing is unmatched.
bool Replay::FreeEndedBelow(std::uint32_t i, Event* event) {
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

void Replay::SetDeath(Id id, std::uint32_t event, EndReason reason) {
  allocations_[id].end_reason = reason;
  allocations_[id].death = EventId(event);
}

void Replay::End(Id id, std::uint32_t event, EndReason reason) {
  SetDeath(id, event, reason);
  const AllocationRecord& allocation = allocations_[id];
  live_.Erase(SpaceOf(allocation), allocation.address, id);
  managed_.Erase(allocation, id);
  if (RangeIndex* const index = IndexOf(allocation); index != nullptr && index->used)
    index->Erase(allocation, id);
  if (frameworks_) EndChildren(id, event);
}

// Depth is at most three: driver allocation, segment, block, tensor.
void Replay::EndChildren(Id id, std::uint32_t event) {
  for (Id child = first_child_[id]; child != kNone; child = next_sibling_[child]) {
    if (!allocations_[child].alive()) continue;
    End(child, event, EndReason::kSegmentFreed);
    ended_below_.Insert(SpaceOf(allocations_[child]), allocations_[child].address, child);
  }
}

void Replay::Map(std::uint32_t i, Event* event) {
  if (!GivesAddress(event->layer)) return;
  const Id id = live_.Find(Space::kPhysical, event->aux0, event->device, true, allocations_);
  Unmap(i, event);  // a mapping in the way means that its unmap was missed
  const std::uint64_t bytes = std::max<std::uint64_t>(event->bytes, 1);
  if (id != kNone && allocations_[id].alive()) mappings_.Map(event->address, bytes, id);
}

void Replay::Unmap(std::uint32_t i, Event* event) {
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

void Replay::EndMembers(std::vector<Id>* members, std::uint32_t event, EndReason reason) {
  for (const Id id : *members)
    if (allocations_[id].alive()) End(id, event, reason);
  members->clear();
}

void Replay::DestroyContext(std::uint32_t i, const Event& event) {
  if (event.context != kNone)
    EndMembers(&context_members_[event.context], i, EndReason::kContextDestroyed);
}

void Replay::ResetDevice(std::uint32_t i, const Event& event) {
  if (event.device == kNoDevice) return;
  for (std::size_t row = 0; row < contexts_.size(); ++row)
    if (contexts_[row].device == event.device && contexts_[row].primary)
      EndMembers(&context_members_[row], i, EndReason::kDeviceReset);
  EndMembers(&DeviceMembers(event.device), i, EndReason::kDeviceReset);
}

}  // namespace

void ReplayLifetimes(RawEvents raw, const std::vector<std::uint32_t>& order,
                     const std::vector<ContextInfo>& contexts, EventTable* events,
                     AnomalyCounts* anomalies) {
  Replay(std::move(raw), order, contexts, events, anomalies).Run();
}

}  // namespace memprof::analysis
