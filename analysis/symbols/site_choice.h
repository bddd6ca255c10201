// Chooses the frame of a stack that the user would name as the place of the allocation.
//
// Names alone are not enough: every program has helpers of its own (a Tensor constructor, a
// Clone()) that are in all stacks. So the stacks decide. From the allocation outward, there is
// first the plumbing, which most stacks share; then the place that is particular to this stack;
// then the loop and main, which all share again. The site is the innermost frame that at most a
// quarter of the distinct stacks contain. A line of the program in Python that few other lines call
// is no plumbing, so that one line is one site.
//
// If the plumbing is a class that constructs itself (a shared constructor), its other members count
// as plumbing too: Tensor::Clone() is rarely called, but is not the place where a tensor is cloned.
// A function that only wraps an allocation is skipped in favour of its callers (wrappers.h).
//
// Users know their own program. If the site is in a package, the nearest line of the program
// outside of it comes first, with the package's line beside it; the same for a wrapper. The stack
// of a failed request may belong to no allocation: frames that are in no allocation's stack, and
// only report the failure, are skipped. In a Python program, C frames without a binary (imported
// snapshots have those of the interpreter and of bindings) are skipped, and so is the line of a
// program that multiprocessing has written for a child.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

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
  // By frame, whether it can be no site and is left out of what is displayed.
  std::vector<bool> Skipped(const std::vector<SourceFrame>& frames) const;
  // The site of `stack`, whose frames are `frames` (not empty). If all of it is plumbing, the most
  // informative frame: Python, an operator, anything but allocators.
  Choice Choose(StackId stack, const std::vector<SourceFrame>& frames) const;

  // The displayed path of the file of `frame`.
  std::string ShownFile(const SourceFrame& frame) const { return files_.Of(frame); }

 private:
  // Driver allocations, blocks and tensors have different plumbing, so each group is judged
  // separately.
  static constexpr int kGroups = 3;
  static int GroupOf(Layer layer);

  std::array<std::uint32_t, kGroups> stacks_{};  // distinct stacks
  // The innermost frame from `begin` that similar stacks do not share.
  std::size_t Particular(StackId stack, const std::vector<SourceFrame>& frames, std::size_t begin,
                         const std::vector<bool>& skipped) const;

  // A line of the program in Python that is no helper: it is the site of all stacks in which it is
  // the innermost.
  bool IsOwnLine(const SourceFrame& frame) const;

  std::vector<std::uint32_t> callers_;  // lines of Python that call it, by place
  std::vector<std::array<std::uint32_t, kGroups>> through_;  // stacks, by SourceFrame::Found::place
  std::vector<std::int8_t> group_of_stack_;                  // -1: of no allocation
  std::vector<Layer> layer_of_stack_;
  bool python_ = false;  // some frame is a line of Python
  Wrappers wrappers_;
  ShownFiles files_;
};

}  // namespace memprof::analysis
