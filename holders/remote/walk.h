// All objects of another process that can be reached from its names, breadth first, those names
// first that a user knows best. Modules are not gone through: nearly everything can be reached
// through them.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "holders/remote/memory.h"
#include "holders/remote/python.h"
#include "holders/remote/references.h"
#include "holders/remote/roots.h"
#include "holders/remote/types.h"

namespace memprof::holders {

class Walk {
 public:
  // An object's number; the first ones are the frames of Roots, then the modules.
  using Id = std::uint32_t;
  // How an object is reached.
  struct Way {                 // `depth`: steps from the root, at most kDeepest
    std::uint64_t detail = 0;  // of the Edge
    Id from = 0;
    EdgeKind kind = EdgeKind::kEntry;
    std::uint16_t depth = 0;
  };
  // Objects on the way from a root; the first step leads from the root.
  struct Path {
    Id root = 0;
    std::vector<Way> steps;
    std::vector<Id> objects;  // to which the steps lead
    // Before this step others are left out, as of a long linked list; 0 = none are.
    std::size_t gap = 0;
  };

  Walk(Memory& memory, const Python& python, Types& types, const Roots& roots)
      : memory_(memory), python_(python), types_(types), roots_(roots) {}

  void Run(std::size_t most_objects);

  std::size_t objects() const { return objects_.size() - root_count_; }
  bool cut() const { return cut_; }
  const std::vector<Id>& targets() const { return targets_; }
  std::uint64_t address(Id id) const { return objects_[id].address; }
  std::vector<std::uint64_t> Addresses() const;
  // The first way, then up to kMostWays - 1 others whose objects are reached without this one.
  std::vector<Path> Paths(Id target);

  static constexpr std::size_t kMostWays = 8;

 private:
  struct Object {
    std::uint64_t address = 0;
    Way way;  // the first
  };
  void AddRoot(std::uint64_t address);
  void SpreadFrom(bool of_user);
  void Spread();
  void Visit(Id from, const Edge& edge);
  bool Follow(const Way& last, Path* path);
  Id Ancestor(Id id);
  bool Full();

  Memory& memory_;
  const Python& python_;
  Types& types_;
  const Roots& roots_;
  std::deque<Object> objects_;
  absl::flat_hash_map<std::uint64_t, Id> ids_;
  std::vector<Id> targets_;
  absl::flat_hash_map<Id, std::vector<Way>> other_ways_;  // to targets
  std::size_t root_count_ = 0, next_ = 0, most_objects_ = 0;
  absl::flat_hash_map<Id, Id> ancestors_;  // of what is deep: the last one before a gap
  std::uint64_t edges_ = 0, kept_ways_ = 0;
  bool cut_ = false;
};

}  // namespace memprof::holders
