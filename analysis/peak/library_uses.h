// Which libraries allocated the memory of a session, and how much each held.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/peak/peak.h"
#include "analysis/peak/savings.h"
#include "analysis/store/session.h"
#include "analysis/symbols/libraries.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// The memory of libraries at an instant.
struct LibraryUse {
  Library library;
  std::uint64_t bytes = 0, blocks = 0;
};
struct LibraryUses {
  // Of memory requested from the driver, and of the blocks of frameworks' allocators; largest
  // first.
  std::vector<LibraryUse> driver, blocks;
  // Whether it is worth a table: several libraries hold driver memory, or one is named among the
  // blocks.
  bool worth_telling() const;
};
LibraryUses UsesAt(const Session& session, Symbols& symbols, const Peak& peak);
// The peak of (device, of) without everything that each of these libraries allocated in the run.
std::vector<PeakSaving> WithoutLibraries(const Session& session, Symbols& symbols,
                                         const PeakSavings& savings, int device, PeakLayer of,
                                         const std::vector<LibraryUse>& uses);

}  // namespace memprof::analysis
