// Groups of any kind of the memory live at a peak, and the peak without each group. For a further
// grouping, add a GroupKey.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "analysis/categories/categories.h"
#include "analysis/peak/peak.h"
#include "analysis/peak/savings.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// Allocations of one group have one key; kNoGroup: in no group. Called for each allocation of the
// run, hence it must be cheap.
using GroupKey = PeakSavings::GroupOf;
GroupKey ByStack();
GroupKey ByLayer();
GroupKey ByCategory(const Categories& categories);

struct PeakGroup {
  std::uint32_t key = 0;
  std::uint64_t bytes = 0, count = 0;          // of the given allocations
  std::int64_t first_step = 0, last_step = 0;  // of births
  PeakSaving saving;                           // set by AddSavings
};
// Groups of `ids`, largest first.
std::vector<PeakGroup> GroupBy(const Session& session, std::span<const AllocationId> ids,
                               const GroupKey& key);
// Adds the peak of (device, of) without each group: without everything of its key that the run
// allocated.
void AddSavings(const PeakSavings& savings, int device, PeakLayer of, const GroupKey& key,
                std::vector<PeakGroup>* groups);
// The same for groups of tensors (PeakSavings::WithoutTensors).
void AddTensorSavings(const PeakSavings& savings, int device, const GroupKey& key,
                      std::vector<PeakGroup>* groups);
// The same for stacks.
std::vector<PeakSaving> WithoutSites(const PeakSavings& savings, int device, PeakLayer of,
                                     std::span<const Site> sites);
// The same for categories, by Category: of blocks if there are any, else of driver memory.
std::vector<PeakSaving> WithoutCategories(const PeakSavings& savings, const Categories& categories,
                                          int device);

// The blocks that were live at `peak`, or the driver memory if no allocator divides it.
struct LiveMemory {
  PeakLayer of = PeakLayer::kBlocks;
  std::vector<AllocationId> ids;
};
LiveMemory LiveMemoryAt(const Session& session, const Peak& peak);

// Where tensors were made. Has a cache; not thread-safe.
class TensorOrigins {
 public:
  TensorOrigins(const Session& session, Symbols& symbols) : session_(session), symbols_(symbols) {}
  // A tensor that the agent of `memprof run --torch` named was recorded later than it was made: its
  // origin is that of the memory below it.
  StackId Of(const AllocationRecord& tensor);

 private:
  bool NamedByAgent(StackId stack);

  const Session& session_;
  Symbols& symbols_;
  std::unordered_map<std::uint32_t, bool> by_agent_;
};

}  // namespace memprof::analysis
