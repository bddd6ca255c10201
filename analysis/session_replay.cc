// Replays events into lifetimes: matches frees to allocations, follows mappings of VMM memory and
// the ends that contexts and devices bring, and finds what lies in what.
#include "analysis/session_replay.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "analysis/session_spaces.h"

namespace memprof::analysis {
namespace {

using lifetimes::AddressTable;
using lifetimes::Family;
using lifetimes::Id;
using lifetimes::kNone;
using lifetimes::ManagedRanges;
using lifetimes::Mappings;
using lifetimes::OwnedByContext;
using lifetimes::RangeIndex;
using lifetimes::Space;
using lifetimes::SpaceOf;

class Replay {
 public:
  Replay(const ReplayInput& input, AnomalyCounts* anomalies)
      : events_(*input.events),
        contexts_(*input.contexts),
        steps_(*input.steps),
        anomalies_(*anomalies),
        context_members_(contexts_.size()) {}

  std::vector<Allocation> Run() {
    Prepare();
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
      while (next_step_ < steps_.size() && steps_[next_step_].event.value <= i)
        step_ = steps_[next_step_++].number;
      switch (events_.op[i]) {
        case Op::kAlloc:
          Allocate(i, events_.layer[i]);
          break;
        case Op::kFree:
          Free(i);
          break;
        case Op::kMap:
          Map(i);
          break;
        case Op::kUnmap:
          Unmap(i);
          break;
        case Op::kContextDestroy:
          DestroyContext(i);
          break;
        case Op::kDeviceReset:
          ResetDevice(i);
          break;
        case Op::kModuleLoad:
          if (events_.address[i] != 0) Allocate(i, Layer::kModule);
          break;
        case Op::kModuleUnload:
        case Op::kModuleGlobal:
          OfModule(i);
          break;
        case Op::kPrefetch:
        case Op::kAdvise:
        case Op::kDiscard:
          events_.allocation[i] = AllocationId(managed_.At(events_.address[i], allocations_));
          break;
        default:
          break;
      }
    }
    return std::move(allocations_);
  }

 private:
  void Prepare();
  void Allocate(std::uint32_t event, Layer layer);
  Allocation Fresh(std::uint32_t event, Layer layer) const;
  void OfModule(std::uint32_t event);
  void Free(std::uint32_t event);
  void Map(std::uint32_t event);
  void Unmap(std::uint32_t event);
  void DestroyContext(std::uint32_t event);
  void ResetDevice(std::uint32_t event);

  void FindParent(Id id);
  void EndOlder(Space space, const Allocation& fresh, std::uint32_t event);
  Id FindFreed(std::uint32_t event) const;
  Id FindImport(std::uint64_t address, int device) const;
  bool FreeEndedBelow(std::uint32_t event);
  void EndMembers(std::vector<Id>* members, std::uint32_t event, EndReason reason);
  void End(Id id, std::uint32_t event, EndReason reason);
  void EndChildren(Id id, std::uint32_t event);
  void SetDeath(Id id, std::uint32_t event, EndReason reason);
  RangeIndex* IndexOf(const Allocation& allocation);
  std::vector<Id>& DeviceMembers(int device) {
    const std::size_t row = static_cast<std::size_t>(device + 1);
    if (row >= device_members_.size()) device_members_.resize(row + 1);
    return device_members_[row];
  }
  void Count(log::Anomaly anomaly) { ++anomalies_[static_cast<std::size_t>(anomaly)]; }

  EventColumns& events_;
  const std::vector<ContextInfo>& contexts_;
  const std::vector<StepInfo>& steps_;
  AnomalyCounts& anomalies_;

  std::vector<Allocation> allocations_;
  std::vector<Id> first_child_, next_sibling_;  // empty where no framework layer was recorded
  std::size_t next_step_ = 0;
  std::int64_t step_ = -1;
  bool frameworks_ = false;
  std::vector<char> void_free_;  // frees that failed; empty if none did

  AddressTable live_, ended_below_;
  RangeIndex driver_, segments_, blocks_;
  ManagedRanges managed_;
  Mappings mappings_;
  absl::flat_hash_map<Id, char> released_;        // VMM memory without a handle, still mapped
  std::vector<std::vector<Id>> context_members_;  // what each context owns
  std::vector<std::vector<Id>> device_members_;   // by device + 1: what ends with a reset
};

// Finds out which indices are worth keeping, and which frees did not happen.
void Replay::Prepare() {
  bool any_failed = false;
  std::array<bool, 256> seen{};
  std::size_t births = 0;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    any_failed |= events_.op[i] == Op::kFreeFailed;
    managed_.used |= IsMark(events_.op[i]);
    if (events_.op[i] != Op::kAlloc) continue;
    ++births;
    seen[static_cast<std::uint8_t>(events_.layer[i])] = true;
  }
  const auto has = [&](Layer layer) { return seen[static_cast<std::uint8_t>(layer)]; };
  blocks_.used = has(Layer::kTensor);
  segments_.used = blocks_.used || has(Layer::kBlock);
  driver_.used = frameworks_ = segments_.used || has(Layer::kSegment);
  allocations_.reserve(births);
  if (!any_failed) return;
  void_free_.resize(events_.size());
  std::vector<std::uint32_t> last_free;  // of each thread
  for (std::uint32_t i = 0; i < events_.size(); ++i) {
    const std::size_t thread = events_.thread[i] + 1u;
    if (thread >= last_free.size()) last_free.resize(thread + 1, kNone);
    if (events_.op[i] == Op::kFree) {
      last_free[thread] = i;
    } else if (events_.op[i] == Op::kFreeFailed && events_.layer[i] != Layer::kModule) {
      const std::uint32_t freed = std::exchange(last_free[thread], kNone);
      if (freed != kNone && events_.address[freed] == events_.address[i]) void_free_[freed] = 1;
    }
  }
}

RangeIndex* Replay::IndexOf(const Allocation& allocation) {
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
Allocation Replay::Fresh(std::uint32_t event, Layer layer) const {
  Allocation fresh;
  fresh.layer = layer;
  fresh.device = OccupiesHost(layer) ? kNoDevice : events_.device[event];
  fresh.thread = events_.thread[event];
  fresh.birth = EventId(event);
  fresh.birth_time = events_.time[event];
  fresh.birth_step = step_;
  fresh.address = events_.address[event];
  fresh.bytes = fresh.requested = events_.bytes[event];
  if (layer == Layer::kBlock && events_.aux0[event] != 0) fresh.requested = events_.aux0[event];
  if (layer == Layer::kModule) fresh.bytes = events_.aux0[event];
  fresh.stream = events_.stream[event];
  if (layer == Layer::kStreamOrdered) fresh.pool = events_.aux0[event];
  fresh.stack = events_.stack[event];
  fresh.api = events_.api[event];
  if (layer == Layer::kTensor) fresh.tensor = TensorId(events_.label[event]);
  constexpr auto kKinds = static_cast<std::uint64_t>(ImportKind::kOwn) + 1;
  if (layer == Layer::kImported && events_.aux1[event] < kKinds)
    fresh.import_kind = static_cast<ImportKind>(events_.aux1[event]);
  return fresh;
}

void Replay::Allocate(std::uint32_t event, Layer layer) {
  const Allocation fresh = Fresh(event, layer);
  const Space space = SpaceOf(fresh);
  if (space == Space::kNowhere) return;
  const Id id = static_cast<Id>(allocations_.size());
  EndOlder(space, fresh, event);
  allocations_.push_back(fresh);
  events_.allocation[event] = AllocationId(id);
  live_.Insert(space, fresh.address, id);
  managed_.Insert(fresh, id);
  if (RangeIndex* const index = IndexOf(fresh)) index->Insert(fresh, id);
  if (frameworks_) {
    first_child_.push_back(kNone);
    next_sibling_.push_back(kNone);
    if (IsFrameworkLayer(layer)) FindParent(id);
  }
  const std::uint32_t context = events_.context[event];
  if (OwnedByContext(fresh) && context != kNone)
    context_members_[context].push_back(id);
  else if (OwnedByContext(fresh) || space == Space::kDevice)
    DeviceMembers(fresh.device).push_back(id);
}

// A module's end, or a look-up of one of its globals. A module that was there before the log is
// neither memory that we missed nor worth a word.
void Replay::OfModule(std::uint32_t event) {
  const bool unload = events_.op[event] == Op::kModuleUnload;
  const std::uint64_t module = unload ? events_.address[event] : events_.aux0[event];
  const Id id = live_.Find(Space::kModule, module, events_.device[event], true, allocations_);
  if (id == kNone) return;
  events_.allocation[event] = AllocationId(id);
  if (unload) End(id, event, EndReason::kFreed);
}

// What was live at the address of something new has ended without our seeing it.
void Replay::EndOlder(Space space, const Allocation& fresh, std::uint32_t event) {
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

void Replay::FindParent(Id id) {
  Allocation& inner = allocations_[id];
  Id parent = kNone;
  if (inner.layer == Layer::kTensor) parent = blocks_.Containing(inner, allocations_);
  if (parent == kNone && inner.layer != Layer::kSegment)
    parent = segments_.Containing(inner, allocations_);
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

Id Replay::FindFreed(std::uint32_t event) const {
  const std::uint64_t address = events_.address[event];
  const int device = events_.device[event];
  const Layer layer = events_.layer[event];
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

void Replay::Free(std::uint32_t event) {
  if (!void_free_.empty() && void_free_[event]) return;
  const Id id = FindFreed(event);
  if (id == kNone) {
    if (!FreeEndedBelow(event)) Count(log::Anomaly::kUnmatchedFrees);
    return;
  }
  const Allocation& freed = allocations_[id];
  if (events_.layer[event] != Layer::kUnspecified &&
      Family(freed.layer) != Family(events_.layer[event]))
    Count(log::Anomaly::kForeignFrees);
  events_.layer[event] = freed.layer;
  events_.device[event] = freed.device;
  if (events_.bytes[event] == 0) events_.bytes[event] = freed.bytes;
  if (SpaceOf(freed) == Space::kPhysical && mappings_.Mapped(id)) {
    live_.Erase(Space::kPhysical, freed.address, id);
    released_[id] = 1;
    return;
  }
  events_.allocation[event] = AllocationId(id);
  End(id, event, EndReason::kFreed);
}

// A framework may say that a piece ends after the memory below it was given back; that is then
// its end, and nothing is unmatched.
bool Replay::FreeEndedBelow(std::uint32_t event) {
  if (!frameworks_) return false;
  const Space space = SpaceOf(events_.layer[event]);
  const std::uint64_t address = events_.address[event];
  const Id id = ended_below_.Find(space, address, events_.device[event], false, allocations_);
  if (id == kNone) return false;
  ended_below_.Erase(space, address, id);
  SetDeath(id, event, EndReason::kFreed);
  events_.allocation[event] = AllocationId(id);
  if (events_.bytes[event] == 0) events_.bytes[event] = allocations_[id].bytes;
  return true;
}

void Replay::SetDeath(Id id, std::uint32_t event, EndReason reason) {
  Allocation& allocation = allocations_[id];
  allocation.end_reason = reason;
  allocation.death = EventId(event);
  allocation.death_time = events_.time[event];
  allocation.death_step = step_;
}

void Replay::End(Id id, std::uint32_t event, EndReason reason) {
  SetDeath(id, event, reason);
  const Allocation& allocation = allocations_[id];
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

void Replay::Map(std::uint32_t event) {
  if (!GivesAddress(events_.layer[event])) return;
  const Id id =
      live_.Find(Space::kPhysical, events_.aux0[event], events_.device[event], true, allocations_);
  Unmap(event);  // a mapping in the way means that its unmap was missed
  const std::uint64_t bytes = std::max<std::uint64_t>(events_.bytes[event], 1);
  if (id != kNone && allocations_[id].alive()) mappings_.Map(events_.address[event], bytes, id);
}

void Replay::Unmap(std::uint32_t event) {
  if (!GivesAddress(events_.layer[event])) return;
  const std::uint64_t bytes = std::max<std::uint64_t>(events_.bytes[event], 1);
  mappings_.Unmap(events_.address[event], bytes, [&](Id id) {
    const auto released = released_.find(id);
    if (released == released_.end()) return;
    released_.erase(released);
    if (!events_.allocation[event].valid()) events_.allocation[event] = AllocationId(id);
    End(id, event, EndReason::kFreed);
  });
}

void Replay::EndMembers(std::vector<Id>* members, std::uint32_t event, EndReason reason) {
  for (const Id id : *members)
    if (allocations_[id].alive()) End(id, event, reason);
  members->clear();
}

void Replay::DestroyContext(std::uint32_t event) {
  const std::uint32_t context = events_.context[event];
  if (context != kNone) EndMembers(&context_members_[context], event, EndReason::kContextDestroyed);
}

void Replay::ResetDevice(std::uint32_t event) {
  const int device = events_.device[event];
  if (device == kNoDevice) return;
  for (std::size_t i = 0; i < contexts_.size(); ++i)
    if (contexts_[i].device == device && contexts_[i].primary)
      EndMembers(&context_members_[i], event, EndReason::kDeviceReset);
  EndMembers(&DeviceMembers(device), event, EndReason::kDeviceReset);
}

}  // namespace

std::vector<Allocation> ReplayLifetimes(const ReplayInput& input, AnomalyCounts* anomalies) {
  input.events->allocation.assign(input.events->size(), AllocationId());
  return Replay(input, anomalies).Run();
}

}  // namespace memprof::analysis
