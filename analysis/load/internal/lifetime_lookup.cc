// Finds what a lifetime lies in, and which one a free ends.
#include "analysis/load/internal/lifetime_finder.h"

namespace memprof::analysis::lifetimes {

// An expandable segment grows by pages, each recorded as a segment; a block may span several, and
// lies in that which it begins in.
Id LifetimeFinder::FirstPages(const AllocationRecord& block) const {
  const Id first = segments_.Beginning(block, allocations_);
  if (first == kNone || !allocations_[first].parent.valid()) return kNone;
  const Layer below = allocations_[allocations_[first].parent.value].layer;
  return below == Layer::kVmmPhysical ? first : kNone;
}

void LifetimeFinder::FindParent(Id id) {
  AllocationRecord& inner = allocations_[id];
  Id parent = kNone;
  if (inner.layer == Layer::kTensor) parent = blocks_.Containing(inner, allocations_);
  if (parent == kNone && inner.layer != Layer::kSegment)
    parent = segments_.Containing(inner, allocations_);
  if (parent == kNone && inner.layer == Layer::kBlock) parent = FirstPages(inner);
  if (parent == kNone) parent = driver_.Containing(inner, allocations_);
  // The memory of a reservation is that which is mapped in it; several mappings have no single
  // owner.
  if (parent == kNone || allocations_[parent].layer == Layer::kVmmAddress) {
    const Id mapped = mappings_.At(inner.address, inner.bytes);
    if (mapped != kNone) parent = mapped;
  }
  if (parent == kNone) return;
  inner.parent = AllocationId(parent);
  next_sibling_[id] = std::exchange(first_child_[parent], id);
}

Id LifetimeFinder::FindFreed(const Event& event) const {
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

// An import is closed by the functions of its form: an address, a handle, an array.
Id LifetimeFinder::FindImport(std::uint64_t address, int device) const {
  for (const Space space : {Space::kDevice, Space::kPhysical, Space::kImport}) {
    const Id id = live_.Find(space, address, device, true, allocations_);
    if (id != kNone && allocations_[id].layer == Layer::kImported) return id;
  }
  return kNone;
}

// What another process shared is opened whole, and used in parts.
Id LifetimeFinder::ImportAround(const Event& event) {
  AllocationRecord part;
  part.device = event.device;
  part.address = event.address;
  const Id id = driver_.Containing(part, allocations_);
  return id != kNone && allocations_[id].layer == Layer::kImported ? id : kNone;
}

}  // namespace memprof::analysis::lifetimes
