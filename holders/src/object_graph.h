// Which object refers to which: all containers that the interpreter's collector knows, and what
// they refer to, by one pass over them with the function that their types give the collector. No
// reference is taken and no code of the program runs.
//
//   frames that run, objects of the list, those that only others refer to, frozen ones
//   id:        0       1       2 ...
//   begin:     0   2       3       3      edges of id are edges[begin[id] .. begin[id + 1])
//   edges:     1 2   0
//
// Objects that cannot be in a cycle (text, numbers) are left out, except leaves. Valid as long as
// the caller holds the GIL without a break.
#pragma once

#include <cstdint>

#include "holders/src/frames.h"
#include "holders/src/object_table.h"
#include "holders/src/python_api.h"
#include "holders/src/region.h"

namespace memprof::holders {

enum class Outcome { kOk, kNoMemory, kFull };

// At one moment.
struct Listed {
  PyObject* all;     // the list of gc.get_objects(), which has one reference to each
  long long frozen;  // how many gc.freeze() has put aside: they are not in the list
};

class ObjectGraph {
 public:
  // Frames that run have variables which the collector does not see.
  struct RunningFrames {
    PyObject* frames;  // list
    PyObject* counts;  // list of the numbers of their variables
    FrameLocals locals;
  };

  // Types whose objects are of interest although the collector does not know them.
  struct Leaves {
    PyObject* types;   // tuple
    PyObject* arrays;  // numpy.ndarray, or another object
  };

  // `spare`: room for objects that are not listed; kFull if that was too little.
  Outcome Build(const Listed& listed, const RunningFrames& running, const Leaves& leaves,
                std::size_t spare);

  std::uint32_t size() const { return static_cast<std::uint32_t>(table_.size()); }
  PyObject* object(std::uint32_t id) const { return table_[id]; }
  std::uint32_t Find(const PyObject* object) const { return table_.Find(object); }
  const std::uint32_t* begin(std::uint32_t id) const { return edges_.data() + begin_[id]; }
  const std::uint32_t* end(std::uint32_t id) const { return edges_.data() + begin_[id + 1]; }
  // Whether it is a function or a class.
  bool has_namespace(std::uint32_t id) const {
    return (has_namespace_[id / 64] >> (id % 64) & 1) != 0;
  }
  std::size_t edges() const { return edges_.size(); }
  // References to an object that none of these objects has: of C code, of variables of frames that
  // were not given, of `all` none.
  std::int64_t UnseenReferences(std::uint32_t id) const {
    return std::int64_t{ReferencesTo(table_[id])} - seen_[id] - (id < listed_end_ ? 1 : 0);
  }
  std::size_t bytes() const {
    return table_.bytes() + edges_.bytes() + begin_.bytes() + seen_.bytes() +
           has_namespace_.bytes();
  }

 private:
  // An edge that was met and whose target's place in the table is being fetched meanwhile: memory
  // is what a look waits for most.
  struct Pending {
    std::uint32_t from;
    PyObject* target;
  };
  static constexpr int kMostPending = 64;
  static constexpr std::ptrdiff_t kMostLeaves = 8;

  static int OnEdge(PyObject* target, void* graph);
  int Meet(PyObject* target);
  void AddPending();
  void AddEdge(const Pending& edge);
  void CountEdges();
  void AddFrozen();
  bool IsLeaf(const PyObject* object) const;
  void VisitArray(const PyObject* array);
  void Visit(std::uint32_t id, const RunningFrames& running);

  const PyObject* all_ = nullptr;
  const PyObject* leaves_[kMostLeaves] = {};
  std::ptrdiff_t leaf_count_ = 0;
  const PyObject* arrays_ = nullptr;
  ObjectTable table_;
  Region<std::uint32_t> begin_, edges_;
  Region<std::uint32_t> seen_;           // by id: edges that lead to it
  Region<std::uint64_t> has_namespace_;  // bits by id
  Pending pending_[kMostPending];
  int pending_count_ = 0;
  std::uint32_t visited_ = 0;     // the object that is visited
  std::uint32_t frames_end_ = 0;  // the ids below are running frames
  std::uint32_t listed_end_ = 0;
  std::uint32_t asked_ = 0;   // objects before it are not frozen
  std::size_t frozen_ = 0;    // so many are not in the table yet
  std::size_t patience_ = 0;  // steps along rings, to find theirs
  Outcome outcome_ = Outcome::kOk;
};

}  // namespace memprof::holders
