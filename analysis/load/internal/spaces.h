// The address spaces of LifetimeFinder: which live allocation an address means.
//
// Lifetimes are identified by their row in the list of allocations (Id). Nothing here is
// thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "analysis/store/event_table.h"

namespace memprof::analysis::lifetimes {

using Id = std::uint32_t;
inline constexpr Id kNone = AllocationId::kNone;

// Address spaces. The functions of one layer can free memory of the other layers in its space.
enum class Space : std::uint8_t {
  kNowhere,
  kDevice,
  kHost,
  kArray,
  kPhysical,
  kReservation,
  kModule,
  kMulticast,
  kImport,  // handles of imported objects, which are not addresses
  kSegment,
  kBlock,
  kTensor,
};

// The space of a layer's addresses; kNowhere for layers without any.
Space SpaceOf(Layer layer);
// The space of one allocation, which may differ from its layer's: an imported VMM handle is among
// handles, other imported objects have a space of their own.
Space SpaceOf(const AllocationRecord& allocation);
// Whether memory of the layer `freed` was freed by a function for the layer `by` that CUDA does not
// allow for it. cuMemFree frees linear, pitched and managed memory. It and cuMemFreeAsync also free
// imported addresses. cuMemFreeAsync also frees what a pool in host memory has allocated. The
// recorder's writer has the same rule.
bool IsForeignFree(Layer freed, Layer by);
// Whether the memory ends with its context. Stream-ordered and graph memory belongs to pools of the
// device, VMM memory to the process.
bool OwnedByContext(const AllocationRecord& allocation);

// Live allocations by address. A log may have ten million at once, so an entry has 16 bytes.
// Devices rarely have the same address: what begins there after the first is in a list.
class AddressTable {
 public:
  void Insert(Space space, std::uint64_t address, Id id) {
    if (!first_[Row(space)].try_emplace(address, id).second) later_[{space, address}].push_back(id);
  }

  void Erase(Space space, std::uint64_t address, Id id) {
    auto& first = first_[Row(space)];
    const auto at = first.find(address);
    if (at == first.end()) return;
    const auto more = later_.empty() ? later_.end() : later_.find({space, address});
    if (more == later_.end()) {
      if (at->second == id) first.erase(at);
      return;
    }
    std::vector<Id>& others = more->second;
    if (at->second == id) at->second = std::exchange(others.front(), id);
    others.erase(std::remove(others.begin(), others.end(), id), others.end());
    if (others.empty()) later_.erase(more);
  }

  // The allocation at `address` on `device`; if `any_device`, else the latest one on another
  // device.
  Id Find(Space space, std::uint64_t address, int device, bool any_device,
          const std::vector<AllocationRecord>& allocations) const {
    const auto& first = first_[Row(space)];
    const auto at = first.find(address);
    if (at == first.end()) return kNone;
    if (allocations[at->second].device == device) return at->second;
    const auto more = later_.empty() ? later_.end() : later_.find({space, address});
    if (more == later_.end()) return any_device ? at->second : kNone;
    for (const Id id : more->second)
      if (allocations[id].device == device) return id;
    return any_device ? more->second.back() : kNone;
  }

 private:
  static std::size_t Row(Space space) { return static_cast<std::size_t>(space); }

  static constexpr std::size_t kSpaces = static_cast<std::size_t>(Space::kTensor) + 1;
  std::array<absl::flat_hash_map<std::uint64_t, Id>, kSpaces> first_;
  absl::flat_hash_map<std::pair<Space, std::uint64_t>, std::vector<Id>> later_;  // in their order
};

// Live ranges of one level by address, to find the one that contains a range.
class RangeIndex {
 public:
  void Insert(const AllocationRecord& allocation, Id id) {
    if (!used) return;
    ranges_[{allocation.device, allocation.address}] = id;
    ++version_;
  }
  void Erase(const AllocationRecord& allocation, Id id) {
    const auto at = ranges_.find({allocation.device, allocation.address});
    if (at == ranges_.end() || at->second != id) return;
    ranges_.erase(at);
    ++version_;
  }
  Id Containing(const AllocationRecord& inner, const std::vector<AllocationRecord>& allocations) {
    const Id id = Before(inner.device, inner.address);
    if (id == kNone) return kNone;
    const AllocationRecord& outer = allocations[id];
    if (outer.device != inner.device || inner.bytes > outer.bytes) return kNone;
    const std::uint64_t offset = inner.address - outer.address;
    return offset <= outer.bytes - inner.bytes && offset < std::max<std::uint64_t>(outer.bytes, 1)
               ? id
               : kNone;
  }

  // The range in which `inner` begins, if it and the adjoining ranges together contain all of
  // `inner`.
  Id Beginning(const AllocationRecord& inner,
               const std::vector<AllocationRecord>& allocations) const {
    auto at = ranges_.upper_bound({inner.device, inner.address});
    if (at == ranges_.begin()) return kNone;
    const Id first = (--at)->second;
    std::uint64_t end = inner.address;
    for (; at != ranges_.end(); ++at) {
      const AllocationRecord& range = allocations[at->second];
      if (range.device != inner.device || range.address > end || range.bytes == 0) return kNone;
      if (end - range.address >= range.bytes) return kNone;
      end = range.address + range.bytes;
      if (end < range.address || end - inner.address >= inner.bytes) return first;
    }
    return kNone;
  }

  bool used = false;  // kept up to date only if it will be searched

 private:
  using Key = std::pair<int, std::uint64_t>;
  // An answer of Before, which holds for [begin, end) of the device until a range comes or goes.
  // Blocks lie in segments that stay for long.
  struct Answer {
    std::uint64_t version = 0, begin = 0, end = 0;
    int device = 0;
    Id id = kNone;
  };

  // The last range that begins at or before the address.
  Id Before(int device, std::uint64_t address) {
    Answer& answer = answers_[(address >> 21) % answers_.size()];
    if (answer.version == version_ && answer.device == device && address >= answer.begin &&
        address < answer.end)
      return answer.id;
    const auto after = ranges_.upper_bound(Key(device, address));
    if (after == ranges_.begin()) return kNone;
    const auto at = std::prev(after);
    if (at->first.first != device) return kNone;
    const bool last = after == ranges_.end() || after->first.first != device;
    answer = {version_, at->first.second, last ? ~std::uint64_t{0} : after->first.second, device,
              at->second};
    return answer.id;
  }

  absl::btree_map<Key, Id> ranges_;
  std::uint64_t version_ = 1;
  std::array<Answer, 1024> answers_{};
};

// Live managed memory by address, on any device: finds the memory of an advice.
class ManagedRanges {
 public:
  void Insert(const AllocationRecord& allocation, Id id) {
    if (used && allocation.layer == Layer::kManaged) ranges_[allocation.address] = id;
  }
  void Erase(const AllocationRecord& allocation, Id id) {
    const auto at = ranges_.find(allocation.address);
    if (at != ranges_.end() && at->second == id) ranges_.erase(at);
  }
  Id At(std::uint64_t address, const std::vector<AllocationRecord>& allocations) const {
    const auto after = ranges_.upper_bound(address);
    if (after == ranges_.begin()) return kNone;
    const Id id = std::prev(after)->second;
    const AllocationRecord& range = allocations[id];
    return address - range.address < range.bytes ? id : kNone;
  }

  bool used = false;  // kept up to date only if it will be searched

 private:
  absl::btree_map<std::uint64_t, Id> ranges_;
};

// VMM mappings: physical memory lives until its handle is released and its last mapping is removed.
class Mappings {
 public:
  struct Mapping {
    std::uint64_t bytes = 0;
    Id id = kNone;
  };

  // The range must not be mapped.
  void Map(std::uint64_t address, std::uint64_t bytes, Id id) {
    mappings_[address] = {bytes, id};
    ++count_[id];
  }
  // Calls `last(id)` for each memory whose last mapping was removed.
  template <typename Last>
  void Unmap(std::uint64_t address, std::uint64_t bytes, Last last) {
    auto at = mappings_.lower_bound(address);
    while (at != mappings_.end() && at->first - address < bytes) {
      const Id id = at->second.id;
      at = mappings_.erase(at);
      if (--count_[id] != 0) continue;
      count_.erase(id);
      last(id);
    }
  }
  bool Mapped(Id id) const { return count_.contains(id); }
  // The memory mapped over the whole range; none if there is none.
  Id At(std::uint64_t address, std::uint64_t bytes) const {
    auto at = mappings_.upper_bound(address);
    if (at == mappings_.begin()) return kNone;
    --at;
    const std::uint64_t offset = address - at->first;
    return bytes <= at->second.bytes && offset <= at->second.bytes - bytes ? at->second.id : kNone;
  }

 private:
  absl::btree_map<std::uint64_t, Mapping> mappings_;
  absl::flat_hash_map<Id, std::uint32_t> count_;  // number of mappings of each memory
};

}  // namespace memprof::analysis::lifetimes
