// The call trees of two sides, merged by the names of functions.
#include "viewer/models/diff_tree.h"

#include <algorithm>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "analysis/diff/stacks.h"
#include "analysis/symbols/stack_paths.h"
#include "viewer/geometry/names.h"

namespace memprof::viewer {
namespace {

using analysis::CallStacks;

constexpr std::uint32_t kNone = ~std::uint32_t{0};

// Stacks of the tree's order with a common beginning.
struct IcicleNode {
  std::size_t begin = 0, end = 0, depth = 0;
  std::uint64_t width = 0;
  int parent = -1;
  double least = 0;      // width of a child that is still drawn
  bool on_zoom = false;  // the functions of the zoom lead here
};

// The tree while it is flattened.
class Flattener {
 public:
  Flattener(const DiffStacks& stacks, bool bottom_up, double least_share)
      : stacks_(stacks),
        bottom_up_(bottom_up),
        least_share_(least_share),
        order_(stacks.size()),
        widths_{0} {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(), [this](std::size_t a, std::size_t b) {
      const std::size_t shorter = std::min(stacks_.depth(a), stacks_.depth(b));
      for (std::size_t i = 0; i < shorter; ++i) {
        const auto first = stacks_.FunctionAt(a, i, bottom_up_);
        const auto second = stacks_.FunctionAt(b, i, bottom_up_);
        if (first != second) return first < second;
      }
      return stacks_.depth(a) < stacks_.depth(b);
    });
    for (const std::size_t i : order_) widths_.push_back(widths_.back() + stacks_.width(i));
  }

  DiffPicture Flatten(std::span<const std::string> zoom) {
    DiffPicture picture;
    picture.bottom_up = bottom_up_;
    std::vector<IcicleNode> todo = {Scaled({.end = order_.size(), .on_zoom = true})};
    while (!todo.empty()) {
      const IcicleNode at = todo.back();
      todo.pop_back();
      const int index = static_cast<int>(picture.flame.nodes.size());
      Emit(at, &picture);
      std::vector<IcicleNode> children = ChildrenOf(at);
      const bool leads_on = at.on_zoom && at.depth < zoom.size();
      const auto next =
          std::find_if(children.begin(), children.end(), [&](const IcicleNode& child) {
            return leads_on && FrameOf(child).function == zoom[at.depth];
          });
      // The widest is visited first.
      for (auto child = children.end(); child != children.begin();) {
        --child;
        child->parent = index;
        if (child == next) {
          child->on_zoom = true;
          todo.push_back(Scaled(*child));
        } else if (static_cast<double>(child->width) < at.least) {
          picture.flame.whole = false;
        } else {
          child->least = at.least;
          todo.push_back(*child);
        }
      }
    }
    return picture;
  }

 private:
  IcicleNode Scaled(IcicleNode node) const {
    node.width = widths_[node.end] - widths_[node.begin];
    node.least = least_share_ * static_cast<double>(node.width);
    return node;
  }

  // The widest first.
  std::vector<IcicleNode> ChildrenOf(const IcicleNode& node) const {
    std::vector<IcicleNode> children;
    std::size_t at = node.begin;
    while (at < node.end && stacks_.depth(order_[at]) == node.depth) ++at;
    while (at < node.end) {
      IcicleNode child{.begin = at, .depth = node.depth + 1};
      const std::uint32_t function = stacks_.FunctionAt(order_[at], node.depth, bottom_up_);
      while (at < node.end && stacks_.FunctionAt(order_[at], node.depth, bottom_up_) == function)
        ++at;
      child.end = at;
      child.width = widths_[child.end] - widths_[child.begin];
      children.push_back(child);
    }
    std::stable_sort(children.begin(), children.end(),
                     [](const IcicleNode& a, const IcicleNode& b) { return a.width > b.width; });
    return children;
  }

  const analysis::SourceFrame& FrameOf(const IcicleNode& node) const {
    std::size_t widest = order_[node.begin];
    for (std::size_t i = node.begin; i < node.end; ++i)
      if (stacks_.width(order_[i]) > stacks_.width(widest)) widest = order_[i];
    return stacks_.frame(widest, node.depth - 1, bottom_up_);
  }

  void Emit(const IcicleNode& node, DiffPicture* picture) const {
    analysis::FlameNode box;
    DiffCost sum;
    std::uint64_t most_before = 0, most_after = 0;  // of one stack
    for (std::size_t i = node.begin; i < node.end; ++i) {
      const DiffCost& cost = stacks_.cost(order_[i]);
      sum.before += cost.before;
      sum.after += cost.after;
      if (cost.before.bytes > most_before) sum.before_stack = cost.before_stack;
      if (cost.after.bytes > most_after) sum.after_stack = cost.after_stack;
      most_before = std::max(most_before, cost.before.bytes);
      most_after = std::max(most_after, cost.after.bytes);
      if (stacks_.depth(order_[i]) == node.depth) box.self_bytes += stacks_.width(order_[i]);
    }
    if (node.depth == 0) {
      box.function = "all";
    } else {
      const analysis::SourceFrame& frame = FrameOf(node);
      box.function = frame.function;
      box.file = frame.file;
      box.line = frame.line;
      box.module = frame.module;
      box.python = frame.python;
    }
    box.bytes = node.width;
    box.blocks = std::max(sum.before.blocks, sum.after.blocks);
    box.parent = node.parent;
    box.stack = sum.after_stack.valid() ? sum.after_stack : sum.before_stack;
    const int index = static_cast<int>(picture->flame.nodes.size());
    if (node.parent >= 0)
      picture->flame.nodes[static_cast<std::size_t>(node.parent)].children.push_back(index);
    picture->flame.nodes.push_back(std::move(box));
    picture->costs.push_back(sum);
  }

  const DiffStacks& stacks_;
  const bool bottom_up_;
  const double least_share_;
  std::vector<std::size_t> order_;     // stacks by their functions
  std::vector<std::uint64_t> widths_;  // of the first so many
};

}  // namespace

double DiffCost::share() const {
  const std::uint64_t larger = std::max(before.bytes, after.bytes);
  return larger == 0 ? 0 : static_cast<double>(change()) / static_cast<double>(larger);
}

// Numbers for the functions and stacks of both sides.
class DiffStacks::Adder {
 public:
  Adder(DiffStacks& out, const analysis::StackAlignment* lines) : out_(out), lines_(lines) {}

  void AddSide(const CallStacks& stacks, bool after) {
    std::vector<std::uint32_t> numbers;  // frames of this side as frames of both
    for (std::size_t i = 0; i < stacks.size(); ++i) {
      std::uint32_t path = analysis::PathTrie::kRoot;
      frames_.clear();
      for (const std::uint32_t frame : stacks.path(i)) {
        if (frame >= numbers.size()) numbers.resize(frame + 1, kNone);
        if (numbers[frame] == kNone) numbers[frame] = NumberOf(stacks.frame(frame));
        frames_.push_back(numbers[frame]);
        path = trie_.Child(path, out_.function_of_[numbers[frame]]);
      }
      if (lines_ != nullptr) path = AddLine(path, stacks.site(i), after);
      AddStack(path, stacks.cost(i), stacks.site(i), after);
    }
  }

 private:
  std::uint32_t NumberOf(const analysis::SourceFrame& frame) {
    std::string key = analysis::StackPaths::NameOf(frame);
    key.append(1, '\0').append(frame.module);
    out_.function_of_.push_back(names_.NumberOf(key));
    out_.frames_.push_back(frame);
    return static_cast<std::uint32_t>(out_.frames_.size() - 1);
  }

  // The path with the place of the stack's call site at its end, if that is known.
  std::uint32_t AddLine(std::uint32_t path, analysis::StackId stack, bool after) {
    const std::uint32_t place =
        analysis::StackAlignment::Of(after ? lines_->after : lines_->before, stack);
    if (place >= lines_->places.size() || lines_->places[place].site.line <= 0) return path;
    const auto [known, fresh] = line_of_.try_emplace(place, kNone);
    if (fresh) {
      analysis::SourceFrame frame = lines_->places[place].site;
      frame.function = ShortPlace(frame).toStdString();
      frame.symbolised = true;
      // Two places of one line are two call sites.
      frame.module.append(1, '\0').append(std::to_string(place));
      known->second = NumberOf(frame);
      out_.frames_.back().module = lines_->places[place].site.module;
    }
    frames_.push_back(known->second);
    return trie_.Child(path, out_.function_of_[known->second]);
  }

  // Stacks come costliest first, so the first of a side is the one to show.
  void AddStack(std::uint32_t path, const analysis::CallCost& cost, analysis::StackId stack,
                bool after) {
    const auto [known, fresh] = entry_of_.try_emplace(path, out_.entries_.size());
    if (fresh) {
      out_.entries_.push_back({out_.paths_.size(), frames_.size(), {}});
      out_.paths_.insert(out_.paths_.end(), frames_.begin(), frames_.end());
    }
    Entry& entry = out_.entries_[known->second];
    analysis::CallCost& sum = after ? entry.cost.after : entry.cost.before;
    if (sum.blocks == 0) {
      (after ? entry.cost.after_stack : entry.cost.before_stack) = stack;
      std::copy(frames_.begin(), frames_.end(),
                out_.paths_.begin() + static_cast<std::ptrdiff_t>(entry.begin));
    }
    sum += cost;
  }

  DiffStacks& out_;
  const analysis::StackAlignment* const lines_;
  absl::flat_hash_map<std::uint32_t, std::uint32_t> line_of_;  // by place: its frame
  analysis::NameTable names_;
  analysis::PathTrie trie_;
  absl::flat_hash_map<std::uint32_t, std::size_t> entry_of_;  // by path
  std::vector<std::uint32_t> frames_;                         // of the stack that is added
};

DiffStacks::DiffStacks(const CallStacks& before, const CallStacks& after,
                       const analysis::StackAlignment* lines) {
  Adder adder(*this, lines);
  adder.AddSide(before, false);
  adder.AddSide(after, true);
}

std::uint64_t DiffStacks::width(std::size_t i) const {
  return std::max(entries_[i].cost.before.bytes, entries_[i].cost.after.bytes);
}

DiffTrees TreesOf(const DiffData& data, CallStacks::Depth depth, std::stop_token stop) {
  const DiffQuestion& question = data.question;
  const auto stacks_of = [&](bool after) -> std::shared_ptr<const CallStacks> {
    const DiffSource& side = after ? question.after : question.before;
    const analysis::AllocationSet* passing =
        (after ? data.passing_after : data.passing_before).get();
    std::vector<analysis::Site> sites =
        question.moments ? analysis::StacksAfter(
                               *side.session,
                               side.session->EventAt(after ? question.to : question.from), passing)
                         : analysis::StacksOfRun(*side.session, question.at, passing);
    const auto& alignment = data.report.alignment;
    if (data.only != analysis::StackAlignment::kNone)
      std::erase_if(sites, [&](const analysis::Site& site) {
        return analysis::StackAlignment::Of(after ? alignment.after : alignment.before,
                                            site.stack) != data.only;
      });
    if (stop.stop_requested()) return nullptr;
    return std::make_shared<const CallStacks>(*side.session, *side.symbols, sites, depth);
  };
  DiffTrees trees;
  trees.before = stacks_of(false);
  if (trees.before != nullptr) trees.after = stacks_of(true);
  if (trees.after != nullptr)
    trees.stacks = std::make_shared<const DiffStacks>(
        *trees.before, *trees.after,
        depth == CallStacks::Depth::kFromSite ? &data.report.alignment : nullptr);
  return trees;
}

DiffPicture PictureOf(const DiffStacks& stacks, bool bottom_up, double least_share,
                      std::span<const std::string> zoom) {
  return Flattener(stacks, bottom_up, least_share).Flatten(zoom);
}

}  // namespace memprof::viewer
