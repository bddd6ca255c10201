// The lists in which the collector has its objects, one for each generation, closed to a ring:
//
//   head <-> object - 16 <-> object - 16 <-> ... <-> head       each link {next, previous}
//
// gc.get_objects() leaves out the list of what gc.freeze() has put aside; from one object of it the
// others are found. The same in CPython 3.9 to 3.14 (PyGC_Head, pycore_gc.h).
#pragma once

#include "holders/src/object_table.h"
#include "holders/src/python_api.h"

namespace memprof::holders {

class CollectorList {
 public:
  // Null if the object is in no list, or the list is not as it should be.
  static PyObject* Next(const PyObject* object) {
    const std::uint64_t link = reinterpret_cast<std::uint64_t>(object) - kLinkBytes;
    const std::uint64_t next = Word(link) & ~kFlags;
    if (next == 0 || (Word(next + kPrevious) & ~kFlags) != link) return nullptr;
    return reinterpret_cast<PyObject*>(next + kLinkBytes);
  }
  // Not an object, but what the collector has in its place: two counters that are 0 for what is
  // frozen. An object has references.
  static bool IsHead(const PyObject* object) {
    return FieldAt<std::uint64_t>(object, kOfObjectReferences) == 0;
  }
  // Whether the ring of `first` is that of the frozen objects, which are so many. Those of `table`
  // before `listed_end` are not frozen. An object that another thread made since they were listed
  // is not among them either, but in a ring whose head may look like an object; so nothing but
  // links and counters is read here, and nothing that is not in the ring. Each step costs one of
  // `patience`: a ring of another length would be walked again from each of its objects.
  static bool IsFrozen(const PyObject* first, std::size_t frozen, const ObjectTable& table,
                       std::uint32_t listed_end, std::size_t* patience) {
    std::size_t objects = 1, heads = 0;
    for (const PyObject* at = Next(first); at != first; at = Next(at)) {
      if (at == nullptr || objects > frozen || table.Find(at) < listed_end || *patience == 0)
        return false;
      --*patience;
      ++(IsHead(at) ? heads : objects);
    }
    return heads == 1 && objects == frozen;
  }

 private:
  static constexpr std::size_t kPrevious = 8, kLinkBytes = 16;
  static constexpr std::uint64_t kFlags = 3;  // of the collector, in both

  static std::uint64_t Word(std::uint64_t address) {
    return *reinterpret_cast<const std::uint64_t*>(address);
  }
};

}  // namespace memprof::holders
