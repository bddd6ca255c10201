// The purpose of memory: parameters, gradients, optimizer state, activations, inputs, workspaces,
// communication, temporaries. Found from the names of tensors if the program gave them, otherwise
// from evidence: call stacks, named ranges, lifetimes within steps, and sizes. docs/categories.md
// has the method and its accuracy.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

enum class Category : std::uint8_t {
  kUnknown,
  kParameters,      // and buffers, and their copies of lower precision
  kGradients,       // of parameters
  kOptimizerState,  // moments, master weights
  kActivations,     // results of the forward pass, also recomputed ones
  kInputs,          // batches
  kWorkspaces,      // scratch memory of one operation or library
  kCommunication,   // buffers of collectives
  kTemporaries,     // gradients of activations, and other memory that is freed within its phase
  kLeaks,           // memory that analysis/leaks reports, whatever it was made for
  // reserved by an allocator, outside of blocks; never the category of an allocation
  kSlack,
};
inline constexpr std::size_t kCategoryCount = 11;
// "parameters", "optimizer state", …: for reports. CategoryKey: "optimizer_state", for JSON.
std::string_view CategoryName(Category category);
std::string_view CategoryKey(Category category);

// The evidence for a category.
enum class CategoryReason : std::uint8_t {
  kNothing,   // no evidence
  kName,      // the tensor's name
  kStack,     // functions of the call stack
  kRange,     // a named range that was open
  kLifetime,  // when in the step it is born and dies
  kSizes,     // its size is that of a parameter, and its lifetime fits
  kLeaks,     // step after step leaves it behind
};
// "the tensor's name", "the call stack", …
std::string_view CategoryReasonText(CategoryReason reason);
// "name", "stack", "range", "lifetime", "sizes", "leaks", "none".
std::string_view CategoryReasonKey(CategoryReason reason);

struct CategoryVerdict {
  Category category = Category::kUnknown;
  CategoryReason reason = CategoryReason::kNothing;
  float confidence = 0;  // in [0, 1]

  bool operator==(const CategoryVerdict&) const = default;
};

// The evidence that may be used: all of it, except when measuring what each kind contributes.
struct CategoryOptions {
  bool names = true;    // of tensors
  bool symbols = true;  // functions and files of stacks
  bool ranges = true;
  // which allocations share a stack, or frames of one
  bool stacks = true;
  const std::vector<StepInfo>* steps = nullptr;  // in place of the session's
};

// One call site's part of a category.
struct CategorySite {
  StackId stack;
  CategoryVerdict verdict;
  std::uint64_t bytes = 0, blocks = 0;
};

struct CategoryTotals {
  // sum to the bytes of the layers on the device
  std::array<std::uint64_t, kCategoryCount> bytes{};
  std::array<std::uint64_t, kCategoryCount> blocks{};
  std::array<double, kCategoryCount> confidence{};  // mean, by bytes; 1 of slack, 0 of none
  std::vector<CategorySite> sites;                  // largest first

  std::uint64_t total() const;
};

// Immutable after construction, hence thread-safe. Construction is linear in events; with `symbols`
// it resolves every distinct stack of an allocation.
class Categories {
 public:
  explicit Categories(const Session& session, Symbols* symbols = nullptr,
                      const CategoryOptions& options = {});

  // The verdict on an allocation of any layer. Judged are blocks, and driver memory that no
  // allocator divides. A tensor has the category of the memory below it. Memory that an allocator
  // divides is kSlack. Host memory and views of other memory are kUnknown.
  const CategoryVerdict& Of(AllocationId id) const { return verdicts_[of_[id.value]]; }
  // The categories of the memory that was live on `device` right after `event`.
  CategoryTotals At(int device, EventId event) const;

 private:
  const Session& session_;
  std::vector<CategoryVerdict> verdicts_;
  std::vector<std::uint16_t> of_;  // row of verdicts_, by allocation
};

}  // namespace memprof::analysis
