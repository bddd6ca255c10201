// From which root is each object reached first? Breadth first, from the roots that a user knows by
// name before the others.
//
// A path never leads into a closed object (a module, its namespace): these are roots themselves,
// and nearly everything can be reached through them. From the user's roots it leads into functions
// and classes of libraries (owners.h) only to what the libraries' roots do not reach.
#pragma once

#include <cstdint>

#include "holders/src/object_graph.h"
#include "holders/src/owners.h"

namespace memprof::holders {

// By which kind of root an object is alive, in order of preference. The numbers are part of the
// interface (look.cc).
enum class Reach : std::uint8_t {
  kNot = 0,
  kUser = 1,     // variables of the user's frames and modules
  kOthers = 2,   // of libraries
  kUnseen = 3,   // C code has a reference
  kGarbage = 4,  // nothing: waits for the collector
};

class Search {
 public:
  explicit Search(const ObjectGraph& graph) : graph_(graph) {}
  // False without memory. Call first.
  bool Create() {
    return parent_.Create(graph_.size()) && reach_.Create(graph_.size()) &&
           closed_.Create(graph_.size() / 64 + 1) && queue_.Create(graph_.size());
  }

  void Close(const PyObject* object);
  // From the objects of lists, including closed ones.
  void FromVariables(PyObject* user, PyObject* others, const Owners& owners);
  // From what is not reached yet and has references that the graph does not.
  void FromUnseenReferences();
  // The rest is garbage: each object of it gets another one that refers to it as its parent.
  void Garbage();

  Reach reach(std::uint32_t id) const { return static_cast<Reach>(reach_[id]); }
  // kNone for a root.
  std::uint32_t parent(std::uint32_t id) const { return parent_[id] - 1; }
  std::size_t bytes() const {
    return parent_.bytes() + reach_.bytes() + closed_.bytes() + queue_.bytes();
  }

 private:
  void Seed(std::uint32_t id, Reach reach) {
    reach_[id] = static_cast<std::uint8_t>(reach);
    queue_[pushed_++] = id;
  }
  void From(PyObject* roots, Reach reach);
  // Until the queue is at `end`.
  void Spread(const Owners* owners, std::uint32_t end = kNone);
  bool closed(std::uint32_t id) const { return (closed_[id / 64] >> (id % 64) & 1) != 0; }

  const ObjectGraph& graph_;
  Region<std::uint32_t> parent_;  // + 1
  Region<std::uint8_t> reach_;
  Region<std::uint64_t> closed_;
  Region<std::uint32_t> queue_;
  std::uint32_t popped_ = 0, pushed_ = 0;
};

}  // namespace memprof::holders
