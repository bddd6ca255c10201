// Walks stacks from the nearest one that is known.
#include "analysis/symbols/stack_paths.h"

#include <algorithm>

namespace memprof::analysis {

std::uint32_t PathTrie::Child(std::uint32_t parent, std::uint32_t name) {
  const auto next = static_cast<std::uint32_t>(children_.size() + 1);
  return children_.try_emplace({parent, name}, next).first->second;
}

// Depth first, children by name: a path precedes all of its continuations.
std::vector<std::uint32_t> PathTrie::Order() const {
  struct Edge {
    std::uint32_t parent, name, node;
    auto operator<=>(const Edge&) const = default;
  };
  std::vector<Edge> edges;
  edges.reserve(children_.size());
  for (const auto& [key, node] : children_) edges.push_back({key.first, key.second, node});
  std::sort(edges.begin(), edges.end());
  const auto first_of = [&edges](std::uint32_t parent) {
    return static_cast<std::size_t>(
        std::lower_bound(edges.begin(), edges.end(), Edge{parent, 0, 0}) - edges.begin());
  };
  std::vector<std::uint32_t> order(edges.size() + 1, 0);
  std::uint32_t next = 1;
  // The next edge of each node on the current path.
  std::vector<std::size_t> open = {first_of(kRoot)};
  std::vector<std::uint32_t> nodes = {kRoot};
  while (!open.empty()) {
    const std::size_t at = open.back();
    if (at == edges.size() || edges[at].parent != nodes.back()) {
      open.pop_back();
      nodes.pop_back();
      continue;
    }
    ++open.back();
    order[edges[at].node] = next++;
    nodes.push_back(edges[at].node);
    open.push_back(first_of(edges[at].node));
  }
  return order;
}

std::uint32_t NameTable::NumberOf(const std::string& name) {
  const auto next = static_cast<std::uint32_t>(numbers_.size());
  return numbers_.try_emplace(name, next).first->second;
}

std::string StackPaths::NameOf(const SourceFrame& frame) {
  if (frame.symbolised || frame.function.find('+') != std::string::npos) return frame.function;
  return "?";
}

StackPaths::StackPaths(const Session& session, Symbols& symbols, NameTable& names,
                       PathTrie& functions, PathTrie& lines)
    : session_(session),
      symbols_(symbols),
      names_(names),
      functions_(functions),
      lines_(lines),
      steps_(session.frame_count()) {}

const std::vector<StackPaths::Step>& StackPaths::StepsOf(FrameId frame) {
  static const std::vector<Step> kNothing;
  if (frame.value >= steps_.size()) return kNothing;
  std::vector<Step>& steps = steps_[frame.value];
  if (!steps.empty()) return steps;
  for (const SourceFrame& one : symbols_.Resolve(frame)) {
    steps.push_back({names_.NumberOf(NameOf(one)), static_cast<std::uint32_t>(one.line)});
    const std::uint32_t function = steps.back().function;
    if (function >= passed_.size()) passed_.resize(function + 1, false);
    passed_[function] = true;
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

template <typename Value, typename Go>
Value StackPaths::Walk(StackId stack, absl::flat_hash_map<std::uint32_t, Value>& known, Go go) {
  std::vector<StackId> fresh;
  Value value{};
  for (; stack.valid() && stack.value < session_.stack_count();
       stack = session_.StackParent(stack)) {
    const auto found = known.find(stack.value);
    if (found != known.end()) {
      value = found->second;
      break;
    }
    fresh.push_back(stack);
  }
  for (std::size_t i = fresh.size(); i-- > 0;) {
    for (const Step& step : StepsOf(session_.StackFrame(fresh[i]))) value = go(value, step);
    known.emplace(fresh[i].value, value);
  }
  return value;
}

StackPaths::Path StackPaths::Of(StackId stack) {
  return Walk(stack, paths_, [this](const Path& path, const Step& step) {
    return Path{functions_.Child(path.functions, step.function),
                lines_.Child(path.lines, step.line)};
  });
}

std::uint32_t StackPaths::FoldedOf(StackId stack, const std::vector<bool>& kept, PathTrie& folded) {
  return Walk(stack, folded_, [&](std::uint32_t path, const Step& step) {
    const bool keep = step.function < kept.size() && kept[step.function];
    return keep ? folded.Child(path, step.function) : path;
  });
}

}  // namespace memprof::analysis
