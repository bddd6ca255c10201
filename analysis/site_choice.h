// Which frame of a stack a person would name as the place of the allocation.
//
// Names alone cannot tell: every program has helpers of its own (a Tensor constructor, a Clone())
// through which everything passes. So the stacks vote. Walking outward from the allocation, the
// plumbing comes first, and most stacks share it; then comes the place that is particular to this
// one; then the loop and main, which all share again. The site is the innermost frame that at most
// a quarter of the distinct stacks pass through. Where the plumbing is a class that makes itself (a
// shared constructor), its other members are doors to it: Tensor::Clone() is seldom called, and yet
// tells nothing about what was cloned, or for whom.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/session.h"
#include "analysis/symbols.h"

namespace memprof::analysis {

// True for frames that by name or module can never be a site: CUDA's and frameworks' libraries,
// standard libraries, allocators, and the interpreter between two lines of Python.
bool IsPlumbing(const SourceFrame& frame);
// A file of the agent that `memprof run --torch` puts into a program.
bool IsAgentFile(std::string_view file);

// "a::Tensor" of "a::Tensor::Clone<int>(a::Tensor const&) const": the scope that the function is
// in;
// "" if it is in none. Views `function`.
std::string_view ScopeOf(std::string_view function);
// "a::Tensor::Tensor", also of templates: `function` makes objects of the class that it is in.
bool IsConstructor(std::string_view function);

// Immutable after construction, hence thread-safe. Construction resolves every distinct stack of
// an allocation: O(stacks × depth).
class SiteChooser {
 public:
  SiteChooser(const Session& session, Symbols& symbols);

  // Index into `frames` (as from Symbols::ResolveStack, innermost first) of the site of `stack`.
  // Where all is plumbing it is what tells most: Python, an operator, anything but allocators.
  // `frames` must not be empty.
  std::size_t Choose(StackId stack, const std::vector<SourceFrame>& frames) const;

 private:
  // Driver allocations, blocks and tensors end in different plumbing, so each votes on its own.
  static constexpr int kGroups = 3;
  static int GroupOf(Layer layer);

  std::array<std::uint32_t, kGroups> stacks_{};  // distinct stacks
  // What stacks pass through: a function; in Python a line of it, because there whole programs are
  // one function, and "forward" is the name of hundreds.
  using Place = std::tuple<std::string_view, std::string_view, int>;
  static Place PlaceOf(const SourceFrame& frame);  // views the frame

  absl::flat_hash_map<Place, std::array<std::uint32_t, kGroups>> through_;
  std::vector<std::int8_t> group_of_stack_;  // -1: of no allocation
};

}  // namespace memprof::analysis
