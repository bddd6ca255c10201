// Allocations grouped by call stack: the table of call sites and the trees of flame graphs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/store/allocation_set.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

enum class Metric {
  kLiveBytes,        // alive at an instant
  kAllocatedBytes,   // allocated during the window
  kAllocationCount,  // number of allocations during the window
};

struct SiteQuery {
  Metric metric = Metric::kLiveBytes;
  TimeNs at = kForever;                  // for kLiveBytes; kForever = end of the log
  TimeWindow window;                     // for the others
  std::uint32_t layers = kDeviceLayers;  // LayerBit set
  int device = kNoDevice;                // kNoDevice = all
  std::shared_ptr<const AllocationSet> passing = nullptr;  // only these; null = all
};

// One call site = one distinct stack.
struct Site {
  StackId stack;
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  AllocationId largest;
};

// Sorted by bytes (by blocks for kAllocationCount), largest first. Sums over sites equal the
// totals over the allocations selected.
std::vector<Site> FindSites(const Session& session, const SiteQuery& query);

// Sums `ids` by stack; largest first by bytes, or by number of allocations if `by_count`. Equal
// sums are in the order of their first allocation.
std::vector<Site> GroupBySite(const Session& session, std::span<const AllocationId> ids,
                              bool by_count = false);

// A tree of frames with costs, root first; a node's cost includes its children's. Nodes are in
// order of depth-first visit, children by cost, largest first.
struct FlameNode {
  std::string function, file;
  int line = 0;
  std::string module;
  std::uint64_t bytes = 0, blocks = 0;  // inclusive
  std::uint64_t self_bytes = 0;
  int parent = -1;
  std::vector<int> children;
  bool python = false;
  StackId stack;  // the costliest one through it; none if no stack is known
};
struct FlameTree {
  std::vector<FlameNode> nodes;  // nodes[0] = root "all"
  bool whole = true;             // no node was left out
};

// `bottom_up`: callers below callees (icicle of leaves). Frames are merged by function and module.
FlameTree BuildFlame(const Session& session, Symbols& symbols, const SiteQuery& query,
                     bool bottom_up = false);

}  // namespace memprof::analysis
