// "What if this were gone": groups of a device's memory, ranked by how much lower the peak of the
// whole run would be, had the group never been allocated.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "analysis/categories/categories.h"
#include "analysis/peak/savings.h"
#include "analysis/store/allocation_set.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

enum class WithoutBy {
  kSite,      // stacks that meet in one function and line are one group
  kCategory,  // as Categories concludes
  kLayer,     // how the memory was allocated
  kTensor,    // tensors of one name, type and shape, with what they lie in
};

struct WithoutRow {
  // What the group is; which of them is told depends on the grouping.
  SourceFrame site;  // of kSite; no function for allocations without a stack
  Category category = Category::kUnknown;
  Layer layer = Layer::kBlock;
  std::string tensor;  // of kTensor: "h.3.attn.q fp32[8×64]"

  StackId stack;                  // of kSite and kTensor: of the largest of its stacks at the peak
  std::uint64_t at_peak = 0;      // bytes of the group when most was held
  std::uint64_t allocations = 0;  // number, in the whole run
  PeakSaving saving;
};

struct WithoutOptions {
  int device = 0;
  PeakLayer of = PeakLayer::kBlocks;  // kLayer is always about kDriver
  WithoutBy by = WithoutBy::kSite;
  const AllocationSet* passing = nullptr;  // only these can be gone; null = any
  std::stop_token stop;                    // what is told then is of no use
};

struct WithoutRanking {
  PeakLayer of = PeakLayer::kBlocks;
  NewPeak peak;                                 // as it was
  std::vector<WithoutRow> rows;                 // by saving, then by bytes at the peak
  std::vector<std::uint32_t> row_of;            // by stack, of kSite: its row; kNoGroup = none
  PeakSaving all;                               // without all that may be gone
  bool has_blocks = false, has_driver = false;  // which sums the device has
};

// `categories` may be null: then everything is of no category. O(n log n) of the allocations.
WithoutRanking RankWithout(const Session& session, Symbols& symbols, const Categories* categories,
                           const WithoutOptions& options);

}  // namespace memprof::analysis
