// Who holds memory, as a tree from the memory to its roots: holders whose last objects before the
// memory are the same share branches.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/leaks/holders.h"

namespace memprof::analysis {

struct HolderTree {
  struct Node {
    std::string text;  // an object; of an end, the root, or all words where only these are known
    int parent = -1;
    std::vector<int> children;  // the one through which most is held first
    // Of an end only: what its holders are, a line each.
    std::vector<std::string> paths;
    HolderKind kind = HolderKind::kUnknown;
    // What is held through it: each allocation once, also if several holders have it.
    std::uint64_t bytes = 0, blocks = 0;

    bool is_end() const { return !paths.empty(); }
  };

  // The first is the memory itself, with what of it was found held. Empty if nothing was. In a flat
  // list, because a path may be as long as a linked list of the program.
  std::vector<Node> nodes;

  bool empty() const { return nodes.empty(); }
  // The lines of the ends below a node, or of itself: each once, at most so many.
  std::vector<std::string> PathsBelow(int node, std::size_t most) const;
};

// Of each of a long path's ends, so many objects are kept; between them is one that counts the
// rest.
inline constexpr std::size_t kHolderEnds = 12;

// `until`: see Holders.
HolderTree TreeOf(const Holders& holders, std::span<const AllocationId> ids, EventId until = {});

}  // namespace memprof::analysis
