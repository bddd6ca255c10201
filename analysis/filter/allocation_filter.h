// A filter of allocations: all of its conditions must hold. Filters are values that can be
// compared, so that changes can be undone.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analysis/categories/categories.h"
#include "analysis/store/allocation_set.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

struct AllocationFilter {
  // Terms (filter_text.h), each a part of the name of the allocation's tensor, or of the function,
  // file or module of any frame of its stack; case is ignored. All must be there, and none of those
  // that are excluded. Without terms = any.
  std::string text;
  std::uint32_t layers = ~0u;        // LayerBit set
  std::optional<StackId> site;       // exactly this stack
  std::optional<Category> category;  // as found by Categories
  std::optional<std::uint64_t> stream;
  std::optional<std::uint32_t> process;  // row of Session::processes()
  std::uint64_t least_bytes = 0, most_bytes = std::numeric_limits<std::uint64_t>::max();
  // From birth to death, or to the end of the log.
  TimeNs least_lifetime = 0, most_lifetime = std::numeric_limits<TimeNs>::max();
  bool alive_at_end = false;  // only those that are never freed

  bool operator==(const AllocationFilter&) const = default;
  bool everything() const { return *this == AllocationFilter(); }
};

// The allocations that pass. `symbols` is used only for a text, `categories` only for a category
// (null: no allocation has one). O(allocations + stacks).
AllocationSet Matching(const Session& session, Symbols& symbols, const Categories* categories,
                       const AllocationFilter& filter);

// The conditions as text, one each, such as "at least 1.0 MiB"; none if everything passes.
std::vector<std::string> DescribeFilter(const Session& session, Symbols& symbols,
                                        const AllocationFilter& filter);

}  // namespace memprof::analysis
