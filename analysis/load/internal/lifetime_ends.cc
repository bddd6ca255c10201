// Ends of lifetimes other than by a free: with the memory that contains them, with their context or
// device, or because their address was allocated again.
#include "analysis/load/internal/lifetime_finder.h"

namespace memprof::analysis::lifetimes {

// A live allocation at the address of a new one has ended without an event.
void LifetimeFinder::EndOlder(Space space, const AllocationRecord& fresh, std::uint32_t event) {
  const Id older = live_.Find(space, fresh.address, fresh.device, false, allocations_);
  if (older != kNone) {
    if (space != Space::kTensor) Count(log::Anomaly::kDoubleAllocations);
    if (space == Space::kPhysical && mappings_.Mapped(older)) {
      live_.Erase(space, fresh.address, older);  // its handle was released, its memory was not
      released_[older] = 1;
    } else {
      End(older, event, EndReason::kAddressReused);
    }
  }
  if (!frameworks_) return;
  const Id ended = ended_below_.Find(space, fresh.address, fresh.device, false, allocations_);
  if (ended != kNone) ended_below_.Erase(space, fresh.address, ended);
}

void LifetimeFinder::SetDeath(Id id, std::uint32_t event, EndReason reason) {
  allocations_[id].end_reason = reason;
  allocations_[id].death = EventId(event);
}

void LifetimeFinder::End(Id id, std::uint32_t event, EndReason reason) {
  SetDeath(id, event, reason);
  const AllocationRecord& allocation = allocations_[id];
  live_.Erase(SpaceOf(allocation), allocation.address, id);
  managed_.Erase(allocation, id);
  if (RangeIndex* const index = IndexOf(allocation); index != nullptr && index->used)
    index->Erase(allocation, id);
  if (frameworks_) EndChildren(id, event);
}

// Depth is at most three: driver allocation, segment, block, tensor.
void LifetimeFinder::EndChildren(Id id, std::uint32_t event) {
  for (Id child = first_child_[id]; child != kNone; child = next_sibling_[child]) {
    if (!allocations_[child].alive()) continue;
    End(child, event, EndReason::kSegmentFreed);
    ended_below_.Insert(SpaceOf(allocations_[child]), allocations_[child].address, child);
  }
}

void LifetimeFinder::EndMembers(std::vector<Id>* members, std::uint32_t event, EndReason reason) {
  for (const Id id : *members)
    if (allocations_[id].alive()) End(id, event, reason);
  members->clear();
}

void LifetimeFinder::DestroyContext(std::uint32_t i, const Event& event) {
  if (event.context != kNone)
    EndMembers(&context_members_[event.context], i, EndReason::kContextDestroyed);
}

void LifetimeFinder::ResetDevice(std::uint32_t i, const Event& event) {
  if (event.device == kNoDevice) return;
  for (std::size_t row = 0; row < contexts_.size(); ++row)
    if (contexts_[row].device == event.device && contexts_[row].primary)
      EndMembers(&context_members_[row], i, EndReason::kDeviceReset);
  EndMembers(&DeviceMembers(event.device), i, EndReason::kDeviceReset);
}

}  // namespace memprof::analysis::lifetimes
