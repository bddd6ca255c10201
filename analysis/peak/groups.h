// What was live at a peak in groups of any kind, and the peak without each of them. A further way
// to group is a further GroupKey.
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

// What is one group has one key; kNoGroup: is in none. Asked for each allocation of the run, hence
// cheap.
using GroupKey = PeakSavings::GroupOf;
GroupKey ByStack();
GroupKey ByLayer();
GroupKey ByCategory(const Categories& categories);

struct PeakGroup {
  std::uint32_t key = 0;
  std::uint64_t bytes = 0, count = 0;          // of what was given
  std::int64_t first_step = 0, last_step = 0;  // of births
  PeakSaving saving;                           // once it was added
};
// Groups of `ids`, largest first.
std::vector<PeakGroup> GroupBy(const Session& session, std::span<const AllocationId> ids,
                               const GroupKey& key);
// The peak of (device, of) without each group: without all of its key that the run allocated.
void AddSavings(const PeakSavings& savings, int device, PeakLayer of, const GroupKey& key,
                std::vector<PeakGroup>* groups);
// The same of groups of tensors (PeakSavings::WithoutTensors).
void AddTensorSavings(const PeakSavings& savings, int device, const GroupKey& key,
                      std::vector<PeakGroup>* groups);
// The same of stacks.
std::vector<PeakSaving> WithoutSites(const PeakSavings& savings, int device, PeakLayer of,
                                     std::span<const Site> sites);
// The same of categories, by Category: of blocks where there are any, else of driver memory.
std::vector<PeakSaving> WithoutCategories(const PeakSavings& savings, const Categories& categories,
                                          int device);

// The blocks that were live at `peak`, or the driver memory where nobody suballocates it.
struct LiveMemory {
  PeakLayer of = PeakLayer::kBlocks;
  std::vector<AllocationId> ids;
};
LiveMemory LiveMemoryAt(const Session& session, const Peak& peak);

// Where tensors were made. Remembers; not thread-safe.
class TensorOrigins {
 public:
  TensorOrigins(const Session& session, Symbols& symbols) : session_(session), symbols_(symbols) {}
  // One that the agent of `memprof run --torch` named, which is later, was made where the memory
  // below it was.
  StackId Of(const AllocationRecord& tensor);

 private:
  bool NamedByAgent(StackId stack);

  const Session& session_;
  Symbols& symbols_;
  std::unordered_map<std::uint32_t, bool> by_agent_;
};

}  // namespace memprof::analysis
