// The call trees of two sides in one: functions of the same name and module are one node, with what
// it held before and after. Lines and addresses do not count, so that an edit moves nothing.
//
// Pure; immutable once made, hence thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/peak/call_tree.h"
#include "viewer/models/diff_data.h"

namespace memprof::viewer {

// What a function, or a stack, held on both sides.
struct DiffCost {
  analysis::CallCost before, after;
  // The costliest stack of each side; none where the side has none.
  analysis::StackId before_stack, after_stack;

  std::int64_t change() const { return static_cast<std::int64_t>(after.bytes - before.bytes); }
  bool fresh() const { return before.bytes == 0 && after.bytes > 0; }
  bool gone() const { return after.bytes == 0 && before.bytes > 0; }
  // The change as a share of the larger side, in [-1, 1]: gone, half, same, twice, new are -1,
  // -0.5, 0, 0.5 and 1.
  double share() const;
};

// The distinct stacks of both sides, by their functions.
class DiffStacks {
 public:
  // `lines`: a last level below the functions, with the place of each stack's call site as the
  // alignment has it, whose line may have moved. Null: none.
  DiffStacks(const analysis::CallStacks& before, const analysis::CallStacks& after,
             const analysis::StackAlignment* lines = nullptr);

  std::size_t size() const { return entries_.size(); }
  const DiffCost& cost(std::size_t i) const { return entries_[i].cost; }
  // The larger side, in bytes.
  std::uint64_t width(std::size_t i) const;
  std::size_t depth(std::size_t i) const { return entries_[i].depth; }
  // Counted from the outermost function, or from the innermost.
  std::uint32_t FunctionAt(std::size_t i, std::size_t depth, bool bottom_up) const {
    return function_of_[FrameAt(i, depth, bottom_up)];
  }
  // Of the costliest stack with these functions; of the run after, if it has one.
  const analysis::SourceFrame& frame(std::size_t i, std::size_t depth, bool bottom_up) const {
    return frames_[FrameAt(i, depth, bottom_up)];
  }

 private:
  struct Entry {
    std::size_t begin = 0, depth = 0;  // in paths_
    DiffCost cost;
  };
  class Adder;

  std::uint32_t FrameAt(std::size_t i, std::size_t depth, bool bottom_up) const {
    const Entry& entry = entries_[i];
    return paths_[entry.begin + (bottom_up ? entry.depth - 1 - depth : depth)];
  }

  std::vector<analysis::SourceFrame> frames_;
  std::vector<std::uint32_t> function_of_;  // of each frame
  std::vector<std::uint32_t> paths_;        // frames, outermost first
  std::vector<Entry> entries_;
};

// The stacks of a comparison, of each side and together. Their sums are those of the compared call
// sites: what a filter hides is in neither. From the site outward, the last level has the places of
// the call sites, so that each is a row of the table.
struct DiffTrees {
  std::shared_ptr<const analysis::CallStacks> before, after;
  std::shared_ptr<const DiffStacks> stacks;
};
// O(events). Null members after a request to stop.
DiffTrees TreesOf(const DiffData& data, analysis::CallStacks::Depth depth, std::stop_token stop);

// The tree as it is drawn. The bytes of a node of `flame` are its width: the sum over its stacks of
// the larger side. So what grew and what shrank both have their size, and nothing overlaps.
struct DiffPicture {
  analysis::FlameTree flame;
  std::vector<DiffCost> costs;  // by node
  bool bottom_up = false;
};

// Without nodes narrower than `least_share` of the whole, or of the last function of `zoom` (names
// from the root) below that one. 0: all nodes. O(stacks · depth).
DiffPicture PictureOf(const DiffStacks& stacks, bool bottom_up, double least_share = 0,
                      std::span<const std::string> zoom = {});

}  // namespace memprof::viewer
