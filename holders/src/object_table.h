// Numbers objects by their addresses: open addressing, eight bytes a place, so that a search waits
// for one line of memory. An address is mixed to 45 bits, one to one. The high 32 bits choose the
// first place; the low 36 are in the entry:
//
//   entry:  | low bits of the mixed address: 36 | number + 1: 28 |     0: free
//
// The 9 bits above follow from the first place, because an entry is never further from its own than
// two addresses with the same low bits have theirs apart. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "holders/src/region.h"

struct PyObject;

namespace memprof::holders {

inline constexpr std::uint32_t kNone = 0xffffffff;

class ObjectTable {
 public:
  // For at most `most` objects. False without memory.
  bool Create(std::size_t most) {
    most_ = most;
    if (most > kMostNumbers) return false;
    places_ = most + most / 2 + 64;
    if (places_ < kFewestPlaces) places_ = kFewestPlaces;
    reach_ = (places_ >> kImpliedBits) - 2;
    return entries_.Create(places_);
  }
  std::uint32_t Find(const PyObject* object) const {
    const std::uint64_t entry = entries_[SearchFor(Mixed(object))];
    return entry != 0 && IsOf(entry, Mixed(object)) ? NumberIn(entry) : kNone;
  }
  // Fetches what Find will read, for an object that is looked for soon.
  void Prefetch(const PyObject* object) const {
    __builtin_prefetch(&entries_[FirstPlace(Mixed(object))]);
  }
  // The number of an object, in order of addition; kNone if the table is full, or nearly so in the
  // part where the object would be, or if no object can be at such an address.
  std::uint32_t Add(PyObject* object) {
    const std::uint64_t mixed = Mixed(object);
    std::uint64_t& entry = entries_[SearchFor(mixed)];
    if (entry != 0) return IsOf(entry, mixed) ? NumberIn(entry) : kNone;
    const auto address = reinterpret_cast<std::uint64_t>(object);
    if ((address & 7) != 0 || address >> (kMixedBits + 3) != 0) return kNone;
    if (objects_.size() == most_ || !objects_.Push(object)) return kNone;
    entry = (mixed & kLowMask) << kNumberBits | objects_.size();
    return NumberIn(entry);
  }
  PyObject* operator[](std::uint32_t id) const { return objects_[id]; }
  std::size_t size() const { return objects_.size(); }
  std::size_t bytes() const { return entries_.bytes() + objects_.bytes(); }

 private:
  static constexpr int kNumberBits = 28, kLowBits = 36, kMixedBits = 45;
  static constexpr int kImpliedBits = kMixedBits - kLowBits;
  static constexpr std::uint64_t kLowMask = (std::uint64_t{1} << kLowBits) - 1;
  static constexpr std::size_t kMostNumbers = (std::size_t{1} << kNumberBits) - 2;
  // So that chains of entries, some two hundred where all are in use, are shorter than the reach.
  static constexpr std::size_t kFewestPlaces = std::size_t{1} << 17;

  // Objects are at multiples of 8.
  static std::uint64_t Mixed(const PyObject* object) {
    constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;
    return ((reinterpret_cast<std::uint64_t>(object) >> 3) * kFactor) &
           ((std::uint64_t{1} << kMixedBits) - 1);
  }
  std::size_t FirstPlace(std::uint64_t mixed) const {
    return static_cast<std::size_t>((mixed >> (kMixedBits - 32)) * places_ >> 32);
  }
  static bool IsOf(std::uint64_t entry, std::uint64_t mixed) {
    return entry >> kNumberBits == (mixed & kLowMask);
  }
  static std::uint32_t NumberIn(std::uint64_t entry) {
    return static_cast<std::uint32_t>(entry & ((std::uint64_t{1} << kNumberBits) - 1)) - 1;
  }
  // The place of the object, or where it would be added; or one of another object if both are too
  // far away.
  std::size_t SearchFor(std::uint64_t mixed) const {
    std::size_t place = FirstPlace(mixed);
    for (std::size_t left = reach_; entries_[place] != 0 && !IsOf(entries_[place], mixed); --left) {
      if (left == 0) return place;
      if (++place == places_) place = 0;
    }
    return place;
  }

  std::size_t most_ = 0;
  std::size_t places_ = 0;
  std::size_t reach_ = 0;
  Region<std::uint64_t> entries_;
  Region<PyObject*> objects_;
};

}  // namespace memprof::holders
