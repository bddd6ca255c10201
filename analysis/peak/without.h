// "What if this were gone": groups of a device's memory, ranked by how much lower the peak of the
// whole run would be without the group.
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
  kSite,      // stacks with the same function and line are one group
  kCategory,  // as found by Categories
  kLayer,     // how the memory was allocated
  kTensor,    // tensors of one name, type and shape, with their blocks
};

struct WithoutRow {
  // Identifies the group; which fields are set depends on the grouping.
  SourceFrame site;  // of kSite; no function for allocations without a stack
  Category category = Category::kUnknown;
  Layer layer = Layer::kBlock;
  std::string tensor;  // of kTensor: "h.3.attn.q fp32[8×64]"

  // of kSite and kTensor: that of its stacks with most bytes at the peak
  StackId stack;
  std::uint64_t at_peak = 0;      // bytes of the group at the peak
  std::uint64_t allocations = 0;  // number, in the whole run
  PeakSaving saving;
};

struct WithoutOptions {
  int device = 0;
  // ignored for kLayer, which always uses kDriver, and for kTensor, which uses TensorPeakLayer
  PeakLayer of = PeakLayer::kBlocks;
  WithoutBy by = WithoutBy::kSite;
  const AllocationSet* passing = nullptr;  // the others are not removed; null = all may be
  std::stop_token stop;                    // the result is incomplete after a stop
};

struct WithoutRanking {
  PeakLayer of = PeakLayer::kBlocks;
  NewPeak peak;                                 // the actual one
  std::vector<WithoutRow> rows;                 // by saving, then by bytes at the peak
  std::vector<std::uint32_t> row_of;            // by stack, of kSite: its row; kNoGroup = none
  PeakSaving all;                               // without everything that may be removed
  bool has_blocks = false, has_driver = false;  // which sums the device has
};

// `categories` may be null: then nothing has a category. O(n log n) of the allocations.
WithoutRanking RankWithout(const Session& session, Symbols& symbols, const Categories* categories,
                           const WithoutOptions& options);

}  // namespace memprof::analysis
