// Groups of the memory live at a peak, with the peak without each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "analysis/peak/groups.h"
#include "analysis/peak/peak.h"
#include "analysis/peak/savings.h"
#include "analysis/store/session.h"
#include "cli/console/json.h"

namespace memprof::cli {

// A way to group allocations.
struct Grouping {
  analysis::GroupKey key;
  std::function<std::string(std::uint32_t)> name;  // of a key
  std::string_view title;                          // "By module that ran when it was made"
  std::string_view column;                         // "module"; in JSON too
};

// For blocks, or for driver memory if no allocator divides it. `savings` may be null.
std::string GroupedText(const analysis::Session& session, const analysis::Peak& peak,
                        const analysis::PeakSavings* savings, std::size_t top,
                        const Grouping& grouping);
// The same, largest first.
Json GroupedJson(const analysis::Session& session, const analysis::Peak& peak,
                 const analysis::PeakSavings* savings, std::size_t top, const Grouping& grouping);

}  // namespace memprof::cli
