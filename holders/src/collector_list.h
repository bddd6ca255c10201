// The lists in which the collector has its objects, one for each generation, closed to a ring:
//
//   head <-> object - 16 <-> object - 16 <-> ... <-> head       each link {next, previous}
//
// gc.get_objects() leaves out the list of what gc.freeze() has put aside; from one object of it the
// others are found. The same in CPython 3.9 to 3.14 (PyGC_Head, pycore_gc.h).
#pragma once

#include "holders/src/python_api.h"

namespace memprof::holders {

class CollectorList {
 public:
  static PyObject* Next(const PyObject* object) { return Linked(object, kNext); }
  static PyObject* Previous(const PyObject* object) { return Linked(object, kPrevious); }
  // Not an object, but what the collector has in its place: two counters that are 0 for what is
  // frozen. An object has references.
  static bool IsHead(const PyObject* object) {
    return FieldAt<std::uint64_t>(object, kOfObjectReferences) == 0;
  }

 private:
  static constexpr std::size_t kNext = 0, kPrevious = 8, kLinkBytes = 16;
  static constexpr std::uint64_t kFlags = 3;  // of the collector, in both

  // Null if the object is in no list, or the list is not as it should be.
  static PyObject* Linked(const PyObject* object, std::size_t where) {
    const std::uint64_t link = reinterpret_cast<std::uint64_t>(object) - kLinkBytes;
    const std::uint64_t other = Word(link + where) & ~kFlags;
    if (other == 0 || (Word(other + (where ^ kPrevious)) & ~kFlags) != link) return nullptr;
    return reinterpret_cast<PyObject*>(other + kLinkBytes);
  }
  static std::uint64_t Word(std::uint64_t address) {
    return *reinterpret_cast<const std::uint64_t*>(address);
  }
};

}  // namespace memprof::holders
