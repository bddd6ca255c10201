// Which frame of a stack a person would name as the place of the allocation.
//
// Names alone cannot tell: every program has helpers of its own (a Tensor constructor, a Clone())
// through which everything passes. So the stacks vote. Walking outward from the allocation, the
// plumbing comes first, and most stacks share it; then comes the place that is particular to this
// one; then the loop and main, which all share again. The site is the innermost frame that at most
// a quarter of the distinct stacks pass through. Where the plumbing is a class that makes itself (a
// shared constructor), its other members are doors to it: Tensor::Clone() is seldom called, and yet
// tells nothing about what was cloned, or for whom. A function that only wraps an allocation is
// passed over for its callers (wrappers.h).
//
// What people know is their own program. Where the site lies in a package, the nearest line of the
// program's own outside of it comes first, and the package's line is told beside it; so is a
// wrapper's. A request that failed may have a stack of no allocation: what no allocation passes
// through, and only reports the failure, is none of its places. In a program of Python, frames of C
// without a binary (imported snapshots have those of the interpreter and of bindings) are no
// places.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "analysis/store/session.h"
#include "analysis/symbols/cxx_names.h"
#include "analysis/symbols/internal/shown_files.h"
#include "analysis/symbols/internal/wrappers.h"
#include "analysis/symbols/plumbing.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// Immutable after construction, hence thread-safe. Construction resolves every distinct stack of
// an allocation: O(stacks × depth).
class SiteChooser {
 public:
  SiteChooser(const Session& session, Symbols& symbols);

  // Indices into `frames`, as from Symbols::ResolveStack, innermost first.
  struct Choice {
    std::size_t user = 0;
    std::optional<std::size_t>
        library;  // farther in than `user`, where that is not the place itself
    std::size_t innermost() const { return library.value_or(user); }
  };
  // The site of `stack`, of which `frames`, which must not be empty, are the frames. Where all is
  // plumbing it is what tells most: Python, an operator, anything but allocators.
  Choice Choose(StackId stack, const std::vector<SourceFrame>& frames) const;

  // How the file of `frame` is told apart from others.
  std::string ShownFile(const SourceFrame& frame) const { return files_.Of(frame); }

 private:
  // Driver allocations, blocks and tensors end in different plumbing, so each votes on its own.
  static constexpr int kGroups = 3;
  static int GroupOf(Layer layer);

  std::array<std::uint32_t, kGroups> stacks_{};  // distinct stacks
  // Whether a frame is passed over, by its index.
  using Skipped = absl::FunctionRef<bool(std::size_t)>;
  // The innermost frame from `begin` that stacks like this do not share.
  std::size_t Particular(StackId stack, const std::vector<SourceFrame>& frames, std::size_t begin,
                         const Skipped& skipped) const;

  std::vector<std::array<std::uint32_t, kGroups>> through_;  // stacks, by SourceFrame::Found::place
  std::vector<std::int8_t> group_of_stack_;                  // -1: of no allocation
  std::vector<Layer> layer_of_stack_;
  bool python_ = false;  // some frame is a line of Python
  Wrappers wrappers_;
  ShownFiles files_;
};

}  // namespace memprof::analysis
