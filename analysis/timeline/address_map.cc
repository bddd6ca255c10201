// Lays out segments, blocks and holes at one instant.
#include "analysis/timeline/address_map.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

// Layers whose `address` is a place in the device's address space; arrays and VMM handles are not.
constexpr std::uint32_t kAddressedLayers =
    LayerBit(Layer::kLinear) | LayerBit(Layer::kPitched) | LayerBit(Layer::kManaged) |
    LayerBit(Layer::kStreamOrdered) | LayerBit(Layer::kGraph);

// Memory that an allocator divides: a segment, or the adjoining pages of an expandable one.
struct Suballocated {
  std::uint64_t bytes = 0;
  std::vector<AllocationId> more_pages;
  std::vector<AllocationId> blocks;
};
using SuballocatedMap = std::map<AllocationId, Suballocated>;

// To its allocator, an expandable segment is one however its pages came: joins those that adjoin.
void JoinPages(const Session& session, SuballocatedMap& suballocated) {
  std::vector<AllocationId> pages;
  for (const auto& [id, ignored] : suballocated) {
    const AllocationRecord& a = session.record(id);
    if (a.layer == Layer::kSegment && a.parent.valid() &&
        session.record(a.parent).layer == Layer::kVmmPhysical)
      pages.push_back(id);
  }
  std::sort(pages.begin(), pages.end(), [&session](AllocationId a, AllocationId b) {
    return session.record(a).address < session.record(b).address;
  });
  AllocationId first;
  for (const AllocationId id : pages) {
    const Suballocated& more = suballocated[id];
    if (first.valid() && session.allocation(first).stream == session.allocation(id).stream &&
        session.record(first).pool() == session.record(id).pool() &&  // private pools
        EndAddress(session.record(first).address, suballocated[first].bytes) ==
            session.record(id).address) {
      Suballocated& whole = suballocated[first];
      whole.bytes += more.bytes;
      whole.more_pages.push_back(id);
      whole.blocks.insert(whole.blocks.end(), more.blocks.begin(), more.blocks.end());
      suballocated.erase(id);
    } else {
      first = id;
    }
  }
}

// Divides [segment.address, +bytes) at its blocks; the rest are holes. Blocks that overlap or
// exceed the segment, as in damaged logs, are clipped.
void FillPieces(const Session& session, std::vector<AllocationId> blocks, MapSegment& segment) {
  std::sort(blocks.begin(), blocks.end(), [&session](AllocationId a, AllocationId b) {
    return session.record(a).address < session.record(b).address;
  });
  const std::uint64_t end = EndAddress(segment.address, segment.bytes);
  std::uint64_t cursor = segment.address;
  const auto hole_up_to = [&segment, &cursor](std::uint64_t address) {
    if (address <= cursor) return;
    const std::uint64_t bytes = address - cursor;
    segment.pieces.push_back({cursor, bytes, AllocationId()});
    segment.free_bytes += bytes;
    segment.largest_hole = std::max(segment.largest_hole, bytes);
    cursor = address;
  };
  for (const AllocationId id : blocks) {
    const AllocationRecord& block = session.record(id);
    const std::uint64_t block_end = std::min(end, EndAddress(block.address, block.bytes));
    if (block_end <= cursor) continue;
    hole_up_to(std::min(block.address, end));
    segment.pieces.push_back({cursor, block_end - cursor, id});
    cursor = block_end;
  }
  hole_up_to(end);
}

// The parts of a driver allocation that no live segment covers, as segments of their own.
void AddUncovered(const Session& session, AllocationId id, std::vector<AllocationId> segments,
                  AddressMap& map) {
  std::sort(segments.begin(), segments.end(), [&session](AllocationId a, AllocationId b) {
    return session.record(a).address < session.record(b).address;
  });
  const Allocation& driver = session.allocation(id);
  std::uint64_t cursor = driver.address;
  const std::uint64_t end = EndAddress(driver.address, driver.bytes);
  const auto add = [&](std::uint64_t to) {
    if (to <= cursor) return;
    MapSegment rest;
    rest.allocation = id;
    rest.address = cursor;
    rest.bytes = to - cursor;
    rest.pieces.push_back({cursor, rest.bytes, id});
    map.segments.push_back(std::move(rest));
  };
  for (const AllocationId segment_id : segments) {
    const Allocation& segment = session.allocation(segment_id);
    add(std::min(segment.address, end));
    cursor = std::max(cursor, std::min(end, EndAddress(segment.address, segment.bytes)));
  }
  add(end);
}

}  // namespace

AllocationId BaseOf(const Session& session, AllocationId block) {
  AllocationId base = block;
  for (AllocationId id = session.record(block).parent; id.valid(); id = session.record(id).parent) {
    base = id;
    if (session.record(id).layer == Layer::kSegment) break;
  }
  return base;
}

AddressMap BuildAddressMap(const Session& session, int device, TimeNs time) {
  AddressMap map;
  map.device = device;
  map.time = time;
  const std::uint32_t layers =
      kAddressedLayers | LayerBit(Layer::kSegment) | LayerBit(Layer::kBlock);
  // Memory that allocators divide, with its blocks; and driver allocations, with their live
  // segments.
  SuballocatedMap suballocated;
  std::map<AllocationId, std::vector<AllocationId>> covered;
  for (const AllocationId id : session.LiveAfter(session.EventAt(time), layers)) {
    const AllocationRecord& a = session.record(id);
    if (a.layer == Layer::kBlock) {
      const AllocationId base = BaseOf(session, id);
      if (session.record(base).device == device) suballocated[base].blocks.push_back(id);
    } else if (a.device == device) {
      if (a.layer == Layer::kSegment) {
        suballocated[id];
        if (a.parent.valid()) covered[a.parent].push_back(id);
      } else {
        covered[id];
      }
    }
  }
  for (auto& [base, what] : suballocated) what.bytes = session.record(base).bytes;
  JoinPages(session, suballocated);
  for (auto& [base, what] : suballocated) {
    const Allocation& a = session.allocation(base);
    MapSegment segment;
    segment.allocation = base;
    segment.address = a.address;
    segment.bytes = what.bytes;
    segment.more_pages = std::move(what.more_pages);
    segment.framework = a.layer != Layer::kBlock;
    FillPieces(session, std::move(what.blocks), segment);
    map.segments.push_back(std::move(segment));
  }
  for (auto& [driver, segments] : covered) {
    const Allocation& a = session.allocation(driver);
    const bool addressed = (kAddressedLayers & LayerBit(a.layer)) != 0;
    if (addressed && a.device == device && !suballocated.contains(driver)) {
      AddUncovered(session, driver, std::move(segments), map);
    }
  }
  std::stable_sort(map.segments.begin(), map.segments.end(),
                   [](const MapSegment& a, const MapSegment& b) { return a.address < b.address; });
  for (const MapSegment& segment : map.segments) {
    map.reserved_bytes += segment.bytes;
    map.allocated_bytes += segment.bytes - segment.free_bytes;
    map.largest_hole = std::max(map.largest_hole, segment.largest_hole);
  }
  return map;
}

}  // namespace memprof::analysis
