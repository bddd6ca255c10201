// Stacks as functions, sorted so that what begins alike lies together.
#include "analysis/peak/call_tree.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "analysis/symbols/plumbing.h"

namespace memprof::analysis {
namespace {

constexpr std::uint32_t kNoRow = ~std::uint32_t{0};

void SortByCost(std::vector<FunctionCost>& costs, bool by_count) {
  std::stable_sort(costs.begin(), costs.end(),
                   [by_count](const FunctionCost& a, const FunctionCost& b) {
                     return a.inclusive.value(by_count) > b.inclusive.value(by_count);
                   });
}

// Sums by function; a stack counts at most once for a function.
class FunctionSums {
 public:
  explicit FunctionSums(std::size_t functions)
      : row_(functions, kNoRow), seen_(functions, kNoRow) {}

  FunctionCost& At(std::uint32_t function) {
    std::uint32_t& row = row_[function];
    if (row == kNoRow) {
      row = static_cast<std::uint32_t>(costs_.size());
      costs_.push_back({function, {}, {}});
    }
    return costs_[row];
  }
  void AddOnce(std::uint32_t function, std::uint32_t stack, const CallCost& cost) {
    if (std::exchange(seen_[function], stack) != stack) At(function).inclusive += cost;
  }
  std::vector<FunctionCost> Take() { return std::move(costs_); }

 private:
  std::vector<std::uint32_t> row_, seen_;
  std::vector<FunctionCost> costs_;
};

}  // namespace

// Numbers for frames and functions while the stacks are put together.
class CallStacks::Interner {
 public:
  Interner(CallStacks& out, const Session& session, Symbols& symbols)
      : out_(out), session_(session), symbols_(symbols), resolved_(session.frame_count()) {}

  // The whole of a stack, innermost first.
  void AddWhole(StackId stack, std::vector<std::uint32_t>* path) {
    std::size_t depth = 0;
    for (StackId node = stack; node.valid() && depth < Session::kMaxStackDepth;
         node = session_.StackParent(node), ++depth) {
      const FrameId id = session_.StackFrame(node);
      if (id.value >= resolved_.size()) continue;
      auto& [first, count] = resolved_[id.value];
      if (count == 0) {
        const std::vector<SourceFrame>& frames = symbols_.Resolve(id);
        first = static_cast<std::uint32_t>(out_.frames_.size());
        count = static_cast<std::uint32_t>(frames.size());
        for (const SourceFrame& frame : frames) Add(frame);
      }
      for (std::uint32_t i = 0; i < count; ++i) path->push_back(first + i);
    }
  }

  void AddFromSite(StackId stack, std::vector<std::uint32_t>* path) {
    std::vector<SourceFrame> frames = symbols_.SiteStack(stack);
    // A stack of libraries alone, such as of a thread that they started, is its call site.
    if (!frames.empty() && IsPlumbing(frames.front())) frames.resize(1);
    for (const SourceFrame& frame : frames) {
      if (path->size() >= Session::kMaxStackDepth) break;
      std::string key = frame.file;
      key.append(1, '\0').append(std::to_string(frame.line)).append(1, '\0');
      key.append(frame.function).append(1, '\0').append(frame.module);
      const auto [at, fresh] = whole_.try_emplace(std::move(key), kNoRow);
      if (fresh) at->second = Add(frame);
      path->push_back(at->second);
    }
  }

  std::uint32_t NoStack() {
    if (no_stack_ == kNoRow) no_stack_ = Add({.function = "(no call stack)"});
    return no_stack_;
  }

 private:
  std::uint32_t Add(const SourceFrame& frame) {
    std::string key = frame.function;
    key.append(1, '\0').append(frame.module);
    const auto [at, fresh] =
        functions_.try_emplace(std::move(key), static_cast<std::uint32_t>(out_.functions_.size()));
    if (fresh) out_.functions_.push_back(frame);
    out_.frames_.push_back(frame);
    out_.function_of_.push_back(at->second);
    return static_cast<std::uint32_t>(out_.frames_.size() - 1);
  }

  CallStacks& out_;
  const Session& session_;
  Symbols& symbols_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> resolved_;  // by FrameId: first, count
  absl::flat_hash_map<std::string, std::uint32_t> functions_, whole_;
  std::uint32_t no_stack_ = kNoRow;
};

CallStacks::CallStacks(const Session& session, Symbols& symbols, std::span<const Site> sites,
                       Depth depth) {
  Interner interner(*this, session, symbols);
  entries_.reserve(sites.size());
  std::vector<std::uint32_t> path;
  for (const Site& site : sites) {
    path.clear();
    if (depth == Depth::kWhole)
      interner.AddWhole(site.stack, &path);
    else
      interner.AddFromSite(site.stack, &path);
    if (path.empty()) path.push_back(interner.NoStack());
    const CallCost cost{site.bytes, site.blocks};
    entries_.push_back({site.stack, paths_.size(), static_cast<std::uint32_t>(path.size()), cost});
    paths_.insert(paths_.end(), path.rbegin(), path.rend());
    total_ += cost;
  }
}

std::optional<std::uint32_t> CallStacks::FindFunction(const SourceFrame& frame) const {
  for (std::uint32_t i = 0; i < functions_.size(); ++i)
    if (functions_[i].function == frame.function && functions_[i].module == frame.module) return i;
  return std::nullopt;
}

std::vector<FunctionCost> CallStacks::Functions() const {
  FunctionSums sums(functions_.size());
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    const auto frames = path(i);
    for (const std::uint32_t frame : frames) sums.AddOnce(function_of_[frame], i, cost(i));
    sums.At(function_of_[frames.back()]).self += cost(i);
  }
  return sums.Take();
}

std::vector<FunctionCost> CallStacks::Neighbours(std::uint32_t function, bool callers,
                                                 bool by_count) const {
  FunctionSums sums(functions_.size());
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    const auto frames = path(i);
    bool innermost = false;  // a callee that allocated itself, called from `function`
    for (std::size_t at = 0; at < frames.size(); ++at) {
      if (function_of_[frames[at]] != function) continue;
      if (callers ? at == 0 : at + 1 == frames.size()) continue;
      const std::size_t other = callers ? at - 1 : at + 1;
      sums.AddOnce(function_of_[frames[other]], i, cost(i));
      innermost |= other + 1 == frames.size();
    }
    if (innermost) sums.At(function_of_[frames.back()]).self += cost(i);
  }
  std::vector<FunctionCost> costs = sums.Take();
  SortByCost(costs, by_count);
  return costs;
}

std::vector<FunctionCost> CallStacks::Callers(std::uint32_t function, bool by_count) const {
  return Neighbours(function, true, by_count);
}

std::vector<FunctionCost> CallStacks::Callees(std::uint32_t function, bool by_count) const {
  return Neighbours(function, false, by_count);
}

StackId CallStacks::CostliestThrough(std::uint32_t function, bool by_count) const {
  const Entry* best = nullptr;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (best != nullptr && entries_[i].cost.value(by_count) <= best->cost.value(by_count)) continue;
    const auto frames = path(i);
    const auto passes = [&](std::uint32_t frame) { return function_of_[frame] == function; };
    if (std::any_of(frames.begin(), frames.end(), passes)) best = &entries_[i];
  }
  return best == nullptr ? StackId() : best->site;
}

double MatchedShare(const CallStacks& stacks, const std::vector<bool>& matches, bool by_count) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    const auto path = stacks.path(i);
    const bool match = std::any_of(path.begin(), path.end(), [&](std::uint32_t frame) {
      return matches[stacks.FunctionOf(frame)];
    });
    if (match) sum += stacks.cost(i).value(by_count);
  }
  const std::uint64_t whole = stacks.total().value(by_count);
  return whole == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(whole);
}

CallTree::CallTree(std::shared_ptr<const CallStacks> stacks, bool bottom_up)
    : stacks_(std::move(stacks)), bottom_up_(bottom_up), order_(stacks_->size()) {
  std::iota(order_.begin(), order_.end(), 0u);
  const auto function = [this](std::uint32_t frame) { return stacks_->FunctionOf(frame); };
  const auto less = [&function](std::uint32_t a, std::uint32_t b) {
    return function(a) < function(b);
  };
  std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto first = stacks_->path(a), second = stacks_->path(b);
    return bottom_up_ ? std::lexicographical_compare(first.rbegin(), first.rend(), second.rbegin(),
                                                     second.rend(), less)
                      : std::lexicographical_compare(first.begin(), first.end(), second.begin(),
                                                     second.end(), less);
  });
  sums_.reserve(order_.size() + 1);
  sums_.emplace_back();
  for (const std::uint32_t stack : order_) {
    sums_.push_back(sums_.back());
    sums_.back() += stacks_->cost(stack);
  }
}

std::uint32_t CallTree::FunctionAt(std::uint32_t place, std::uint32_t depth) const {
  const auto path = stacks_->path(order_[place]);
  return stacks_->FunctionOf(path[bottom_up_ ? path.size() - 1 - depth : depth]);
}

CallTree::Node CallTree::Root() const {
  Node root;
  root.end = static_cast<std::uint32_t>(order_.size());
  root.inclusive = stacks_->total();
  return root;
}

bool CallTree::HasChildren(const Node& node) const {
  // A path that ends here sorts before longer ones, so the last one decides.
  return node.begin < node.end && stacks_->path(order_[node.end - 1]).size() > node.depth;
}

std::vector<CallTree::Node> CallTree::Children(const Node& node, bool by_count) const {
  std::vector<Node> children;
  const auto places = [](std::uint32_t begin, std::uint32_t end, auto&& before) {
    // The first place of [begin, end) for which `before` is false; it is true for all places before
    // that.
    while (begin < end) {
      const std::uint32_t middle = begin + (end - begin) / 2;
      if (before(middle))
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  };
  const auto ends_at = [this](std::uint32_t depth) {
    return
        [this, depth](std::uint32_t place) { return stacks_->path(order_[place]).size() == depth; };
  };
  std::uint32_t at = places(node.begin, node.end, ends_at(node.depth));
  while (at < node.end) {
    const std::uint32_t function = FunctionAt(at, node.depth);
    Node child;
    child.begin = at;
    child.end = places(at, node.end, [&](std::uint32_t place) {
      return FunctionAt(place, node.depth) == function;
    });
    child.depth = node.depth + 1;
    child.row = *std::min_element(order_.begin() + at, order_.begin() + child.end);
    const auto path = stacks_->path(child.row);
    child.frame = path[bottom_up_ ? path.size() - child.depth : node.depth];
    child.inclusive = CostOf(child.begin, child.end);
    child.self = CostOf(child.begin, places(child.begin, child.end, ends_at(child.depth)));
    children.push_back(child);
    at = child.end;
  }
  std::stable_sort(children.begin(), children.end(), [by_count](const Node& a, const Node& b) {
    return a.inclusive.value(by_count) > b.inclusive.value(by_count);
  });
  return children;
}

}  // namespace memprof::analysis
