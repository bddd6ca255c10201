// What a device's memory over time can be grouped by: kinds of memory, layers, categories, call
// sites, streams, processes.
//
// Grouped are the blocks of the framework's allocator where one was seen on the device, else what
// was asked of the driver; by layer always the latter; of the host, pinned and registered memory.
// The groups add up to just that at every instant, with or without a filter: what it does not let
// pass is a group of its own.
#pragma once

#include <memory>

#include "analysis/filter/allocation_filter.h"
#include "analysis/filter/internal/timeline_stack.h"
#include "analysis/store/allocation_set.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

enum class TimelineGrouping : std::uint8_t {
  kKind,      // tensors, other blocks; without a framework, tensors and layers
  kLayer,     // of the driver
  kCategory,  // analysis/categories/categories.h
  kSite,      // the place in the program that people would name, analysis/symbols/site_groups.h
  kStream,    // of the call that made it
  kProcess,   // of the session's
};

struct TimelineQuery {
  TimelineGrouping grouping = TimelineGrouping::kKind;
  std::shared_ptr<const AllocationSet> passing;  // null: everything passes
  const Categories* categories = nullptr;        // needed for kCategory, else all is unknown
  Symbols* symbols = nullptr;                    // for kSite; null: every stack is its own site
};

// So many sites, streams or processes have a band of their own: those that held most, of what
// passes, when the device held most; then those that ever asked for most. The rest is one band.
inline constexpr std::size_t kOwnBands = 7;

// The groups of the device of `kinds`, a stack of BuildKindStacks. Bottom first: the largest at the
// peak; categories and layers in their own order; then the rest; then what does not pass.
// O(allocations), and for sites the resolving of all stacks.
StackGroups FindGroups(const TimelineStack& kinds, const TimelineQuery& query);

}  // namespace memprof::analysis
