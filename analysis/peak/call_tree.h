// Call stacks and their cost by function: trees that are expanded node by node, and callers and
// callees. A function is a name in a module, at any position in it.
//
// Everything here is immutable once made, hence thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/peak/sites.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

struct CallCost {
  std::uint64_t bytes = 0, blocks = 0;

  CallCost& operator+=(const CallCost& other) {
    bytes += other.bytes;
    blocks += other.blocks;
    return *this;
  }
  CallCost operator-(const CallCost& other) const {
    return {bytes - other.bytes, blocks - other.blocks};
  }
  std::uint64_t value(bool by_count) const { return by_count ? blocks : bytes; }
  bool operator==(const CallCost&) const = default;
};

// The cost of a function. Inclusive: allocated in it and in its callees, however often it is on the
// stack. Self: allocated in it directly.
struct FunctionCost {
  std::uint32_t function = 0;
  CallCost inclusive, self;
};

// The sites of a query with their stacks, inlined functions expanded.
class CallStacks {
 public:
  enum class Depth {
    kWhole,
    kFromSite,  // from the site outward, without libraries and allocators
  };

  CallStacks(const Session& session, Symbols& symbols, std::span<const Site> sites,
             Depth depth = Depth::kWhole);

  // The frame with which a function was first seen: that of the costliest site through it.
  std::span<const SourceFrame> functions() const { return functions_; }
  const SourceFrame& frame(std::uint32_t frame) const { return frames_[frame]; }
  std::uint32_t FunctionOf(std::uint32_t frame) const { return function_of_[frame]; }

  // The function of a frame; none where no stack has it.
  std::optional<std::uint32_t> FindFunction(const SourceFrame& frame) const;

  // In the order of the sites: costliest first.
  std::size_t size() const { return entries_.size(); }
  StackId site(std::size_t i) const { return entries_[i].site; }
  const CallCost& cost(std::size_t i) const { return entries_[i].cost; }
  // Frames, outermost first. Never empty: a site without a stack has one frame that says so.
  std::span<const std::uint32_t> path(std::size_t i) const {
    return std::span(paths_).subspan(entries_[i].begin, entries_[i].depth);
  }
  const CallCost& total() const { return total_; }

  // Of all functions, in no order. O(frames of all stacks), as are the others.
  std::vector<FunctionCost> Functions() const;
  // The callers and callees of `function`, with the inclusive cost of the stacks in which they
  // occur, each stack once. `self`: what the caller or callee allocated directly in these stacks.
  // By cost, largest first.
  std::vector<FunctionCost> Callers(std::uint32_t function, bool by_count) const;
  std::vector<FunctionCost> Callees(std::uint32_t function, bool by_count) const;
  // The costliest stack through a function; none where no stack is known.
  StackId CostliestThrough(std::uint32_t function, bool by_count) const;

 private:
  class Interner;
  struct Entry {
    StackId site;
    std::size_t begin = 0;
    std::uint32_t depth = 0;
    CallCost cost;
  };

  std::vector<FunctionCost> Neighbours(std::uint32_t function, bool callers, bool by_count) const;

  std::vector<SourceFrame> functions_, frames_;
  std::vector<std::uint32_t> function_of_;  // of each frame
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> paths_;
  CallCost total_;
};

// The share of the total cost, in [0, 1], in stacks with any function for which `matches` (by
// function) is true; each stack once.
double MatchedShare(const CallStacks& stacks, const std::vector<bool>& matches, bool by_count);

// The stacks as a tree of functions from their outermost ends, or from their innermost. Stores only
// the order of the stacks, 20 bytes a stack: a node is a run of stacks with a common beginning.
class CallTree {
 public:
  struct Node {
    std::uint32_t begin = 0, end = 0;  // stacks, in the tree's order
    std::uint32_t depth = 0;           // number of functions from the root to here
    std::uint32_t row = 0;             // of stacks(): the first, hence costliest, through this node
    std::uint32_t frame = 0;           // of that stack; nothing for the root
    CallCost inclusive;
    CallCost self;  // of the stacks that end here
  };

  // O(stacks log stacks).
  CallTree(std::shared_ptr<const CallStacks> stacks, bool bottom_up);

  const CallStacks& stacks() const { return *stacks_; }
  bool bottom_up() const { return bottom_up_; }
  Node Root() const;
  // Costliest first. O(stacks of the node).
  std::vector<Node> Children(const Node& node, bool by_count) const;
  bool HasChildren(const Node& node) const;
  // The costliest stack of a node; none where no stack is known.
  StackId Costliest(const Node& node) const {
    return node.begin < node.end ? stacks_->site(node.row) : StackId();
  }
  // Row of stacks() at a place of the tree's order.
  std::uint32_t stack(std::uint32_t place) const { return order_[place]; }

 private:
  std::uint32_t FunctionAt(std::uint32_t place, std::uint32_t depth) const;
  CallCost CostOf(std::uint32_t begin, std::uint32_t end) const {
    return sums_[end] - sums_[begin];
  }

  std::shared_ptr<const CallStacks> stacks_;
  const bool bottom_up_;
  std::vector<std::uint32_t> order_;  // stacks by their functions
  std::vector<CallCost> sums_;        // of the first so many
};

// A tree for flame graphs: all of it, or without nodes below `least_share` of the whole, which
// would be invisible. `zoom`: functions from the root; below them, shares are those of the last
// one, so that small nodes appear as one zooms to them.
FlameTree FlattenTree(const CallTree& tree, bool by_count, double least_share = 0,
                      std::span<const std::string> zoom = {});

}  // namespace memprof::analysis
