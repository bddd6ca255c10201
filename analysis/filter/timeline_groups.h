// Groupings of a device's memory over time: kinds of memory, layers, categories, call sites,
// streams, processes.
//
// Grouped are the blocks of the framework's allocator if one was seen on the device, else what was
// requested from the driver; by layer always the latter; on the host, pinned and registered memory.
// The groups add up to that memory at every instant, with a filter or without: what the filter does
// not let pass is a group of its own.
#pragma once

#include <memory>

#include "analysis/filter/allocation_filter.h"
#include "analysis/filter/timeline_stack.h"
#include "analysis/store/allocation_set.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

enum class TimelineGrouping : std::uint8_t {
  kKind,      // tensors, other blocks; without a framework, tensors and layers
  kLayer,     // of the driver
  kCategory,  // analysis/categories/categories.h
  kSite,      // the user's place, analysis/symbols/site_groups.h
  kStream,    // of the call that made it
  kProcess,   // of the session's
};

struct TimelineQuery {
  TimelineGrouping grouping = TimelineGrouping::kKind;
  std::shared_ptr<const AllocationSet> passing;  // null: everything passes
  const Categories* categories = nullptr;        // needed for kCategory, else all is unknown
  Symbols* symbols = nullptr;                    // for kSite; null: every stack is its own site
  // Bands of an earlier stack, also of another filter; those that are not there are ignored.
  std::vector<StackBand> hidden = {};
  // With the rest of the device, if the log has samples of it. Not of the host.
  bool whole_device = false;
  // Only the memory of this process, without what pools hold beyond it.
  std::optional<std::uint32_t> process = {};
};

// The number of sites, streams or processes that have a band of their own: those that held most of
// the passing memory at the device's peak, then those that ever requested most. The rest is one
// band.
inline constexpr std::size_t kOwnBands = 7;

// The groups of the device of `kinds`, a stack from BuildKindStacks. Bottom first: the largest at
// the peak (categories and layers in their own order); then the rest; then what does not pass.
// O(allocations), and for sites the resolution of all stacks.
StackGroups FindGroups(const TimelineStack& kinds, const TimelineQuery& query);

}  // namespace memprof::analysis
