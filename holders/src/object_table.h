// Numbers objects by their addresses: open addressing, with the number beside the key's place.
// Objects are at multiples of 16, and neighbours in memory are often neighbours in the heap's use.
// Not thread-safe.
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
    places_ = most + most / 2 + 64;
    return places_ < kNone && keys_.Create(places_) && ids_.Create(places_);
  }
  std::uint32_t Find(const PyObject* object) const {
    const std::size_t place = PlaceOf(object);
    return keys_[place] == object ? ids_[place] : kNone;
  }
  // Fetches what Find will read, for an object that is looked for soon.
  void Prefetch(const PyObject* object) const {
    const std::size_t place = FirstPlaceOf(object);
    __builtin_prefetch(&keys_[place]);
    __builtin_prefetch(&ids_[place]);
  }
  // The number of an object, in order of addition; kNone if the table is full.
  std::uint32_t Add(PyObject* object) {
    const std::size_t place = PlaceOf(object);
    if (keys_[place] == object) return ids_[place];
    if (objects_.size() == most_ || !objects_.Push(object)) return kNone;
    keys_[place] = object;
    return ids_[place] = static_cast<std::uint32_t>(objects_.size() - 1);
  }
  PyObject* operator[](std::uint32_t id) const { return objects_[id]; }
  std::size_t size() const { return objects_.size(); }
  std::size_t bytes() const { return keys_.bytes() + ids_.bytes() + objects_.bytes(); }

 private:
  __extension__ using Wide = unsigned __int128;

  std::size_t FirstPlaceOf(const PyObject* object) const {
    constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;
    const std::uint64_t mixed = (reinterpret_cast<std::uint64_t>(object) >> 4) * kFactor;
    return static_cast<std::size_t>(Wide{mixed} * places_ >> 64);
  }
  // Of the object, or where it would be added.
  std::size_t PlaceOf(const PyObject* object) const {
    std::size_t place = FirstPlaceOf(object);
    while (keys_[place] != nullptr && keys_[place] != object)
      if (++place == places_) place = 0;
    return place;
  }

  std::size_t most_ = 0;
  std::size_t places_ = 0;
  Region<const PyObject*> keys_;
  Region<std::uint32_t> ids_;
  Region<PyObject*> objects_;
};

}  // namespace memprof::holders
