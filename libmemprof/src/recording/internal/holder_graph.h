// Which roots hold which blocks, from the words that point to them: a graph of heap blocks whose
// edges lead from the block that has a pointer to the block that it points to.
//
// Of all ways from a root to a block, the one with the fewest different blocks is told. A run of
// blocks of one size counts as one: the nodes of a list or a tree. Then all entries of a collection
// have the same way, however many nodes lie between. Equal ways have the root with the lowest
// address. Globals and thread-local memory come before stacks, and these before other memory.
//
// Blocks of the driver, and what they hold, have no way: the program's handles of the driver point
// to the driver's blocks, and these to everything.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/hash.h"
#include "libmemprof/src/base/hash_table.h"
#include "libmemprof/src/base/mapped_array.h"

namespace memprof::recorder {

class HolderGraph {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::size_t kMostNodes = std::size_t{1} << 17;
  static constexpr int kClasses = 3;  // of roots: those of a lower class come first

  struct Node {
    std::uint64_t begin, bytes;
    std::uint64_t alike;   // the size by which it is told: see Resolve
    std::uint32_t root;    // the root of its way; kNone: no way is known
    std::uint32_t before;  // the node before it on the way; kNone: the root itself
    std::uint16_t length;  // of the way, in different blocks
    std::uint8_t of_class;
    bool drivers;
    std::uint8_t from_old, from_new;  // edges to it, from nodes that were known before and others
    std::uint8_t roots[kClasses];     // that are kept
  };

  HolderGraph() = default;
  HolderGraph(const HolderGraph&) = delete;
  HolderGraph& operator=(const HolderGraph&) = delete;

  // The node of the block at `begin`; kNone when there is no place for it.
  std::uint32_t NodeOf(std::uint64_t begin, std::uint64_t bytes);
  // `root`: the caller's number, in the order of preference among equals. At most kEachClass of a
  // class are kept of each node.
  void AddRoot(std::uint32_t node, std::uint32_t root, int of_class);
  // At most kEdges are kept to each node from nodes that were known before `first_new`, and as many
  // from others: where many entries point back to their collection, what points to the collection
  // has a place as well.
  void AddEdge(std::uint32_t from, std::uint32_t to, std::uint32_t first_new);
  void SetDrivers(std::uint32_t node) { nodes_[node].drivers = true; }

  // Finds the ways. False without memory for it. malloc gives a block that is 16 bytes too large
  // where the rest would be too small for another: such a block counts as one of the smaller size
  // if more blocks have that.
  bool Resolve();

  std::size_t size() const { return nodes_.size(); }
  const Node& node(std::uint32_t index) const { return nodes_[index]; }
  // Whether any way has several blocks of this size in a row.
  bool IsRun(std::uint64_t bytes) { return FindRun(bytes) != nullptr; }

 private:
  static constexpr std::uint8_t kEdges = 8, kEachClass = 4;
  struct Entry {
    std::uint64_t begin;
    std::uint32_t node;
    bool empty() const { return begin == 0; }
    std::uint64_t hash() const { return Mix(begin, 0); }
  };
  struct Run {
    std::uint64_t bytes;
    std::uint32_t count;
    bool empty() const { return bytes == 0; }
    std::uint64_t hash() const { return Mix(bytes, 0); }
  };
  struct Edge {
    std::uint32_t from, to;
  };
  struct RootEdge {
    std::uint32_t root, to;
    std::uint8_t of_class;
  };
  struct Start {
    std::uint32_t root, node, before;
  };
  Run* FindRun(std::uint64_t bytes);
  void FindAlike();
  bool IndexEdges();
  bool SpreadDrivers();
  bool ResolveClass(int of_class);
  void Settle(const Start& start, std::uint16_t length, int of_class);

  MappedArray<Node> nodes_;
  HashTable<Entry> index_{1024, kMostNodes * 2};
  MappedArray<RootEdge> roots_;
  MappedArray<Edge> edges_;                // sorted by `from` in Resolve
  MappedArray<std::uint32_t> first_edge_;  // of each node, and an end
  MappedArray<std::uint32_t> todo_;
  MappedArray<Start> starts_, next_;
  HashTable<Run> runs_{256, 4096}, sizes_{256, 4096};
};

}  // namespace memprof::recorder
