// Aligns stacks in three passes: by functions and lines, by functions, and by the functions that
// both runs have.
#include "analysis/stack_alignment.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace memprof::analysis {
namespace {

// One distinct stack by names, with the stacks (addresses) that have it.
struct NamedStack {
  std::vector<std::string> functions;  // outermost first
  std::vector<int> lines;
  std::vector<StackId> stacks;
  std::string site;  // the function that a person would name
  bool matched = false;
};

// What is only an address or an offset in a binary means nothing in another run, unless the binary
// is the same; the offset then agrees.
std::string NameOf(const SourceFrame& frame) {
  if (frame.symbolised || frame.function.find('+') != std::string::npos) return frame.function;
  return "?";
}

std::vector<NamedStack> NameStacks(const Session& session, Symbols& symbols) {
  std::vector<NamedStack> named;
  std::unordered_set<std::uint32_t> seen;
  std::map<std::pair<std::vector<std::string>, std::vector<int>>, std::size_t> index;
  for (const AllocationRecord& a : session.records()) {
    if (a.layer == Layer::kTensor || !seen.insert(a.stack.value).second) continue;
    NamedStack stack;
    if (a.stack.valid()) {
      const std::vector<SourceFrame> frames = symbols.ResolveStack(a.stack);
      for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
        stack.functions.push_back(NameOf(*frame));
        stack.lines.push_back(frame->line);
      }
      stack.site = NameOf(symbols.Site(a.stack));
    }
    const auto [at, fresh] = index.try_emplace({stack.functions, stack.lines}, named.size());
    if (fresh) named.push_back(std::move(stack));
    named[at->second].stacks.push_back(a.stack);
  }
  return named;
}

std::unordered_set<std::string> FunctionsOf(const std::vector<NamedStack>& stacks) {
  std::unordered_set<std::string> functions;
  for (const NamedStack& stack : stacks)
    functions.insert(stack.functions.begin(), stack.functions.end());
  return functions;
}

// Stacks of both runs that are taken for the same.
struct Pair {
  std::vector<StackId> before, after;
  MatchKind match = MatchKind::kLines;
};

class Aligner {
 public:
  Aligner(std::vector<NamedStack> before, std::vector<NamedStack> after)
      : before_(std::move(before)), after_(std::move(after)) {}

  std::vector<Pair> Align() {
    MatchExactly();
    MatchBy(MatchKind::kFunctions, [](const NamedStack& s) { return s.functions; });
    const auto first = FunctionsOf(before_), second = FunctionsOf(after_);
    MatchBy(MatchKind::kFolded, [&](const NamedStack& s) {
      std::vector<std::string> common;
      // A site that the other run does not have is a new one, or gone, whoever calls it.
      if (!first.contains(s.site) || !second.contains(s.site)) return common;
      for (const std::string& function : s.functions)
        if (first.contains(function) && second.contains(function)) common.push_back(function);
      return common;
    });
    for (const NamedStack& stack : before_)
      if (!stack.matched) pairs_.push_back({stack.stacks, {}, MatchKind::kLines});
    for (const NamedStack& stack : after_)
      if (!stack.matched) pairs_.push_back({{}, stack.stacks, MatchKind::kLines});
    return std::move(pairs_);
  }

 private:
  void Match(NamedStack& a, NamedStack& b, MatchKind kind) {
    a.matched = b.matched = true;
    pairs_.push_back({a.stacks, b.stacks, kind});
  }

  void MatchExactly() {
    std::map<std::pair<std::vector<std::string>, std::vector<int>>, NamedStack*> index;
    for (NamedStack& stack : before_) index[{stack.functions, stack.lines}] = &stack;
    for (NamedStack& stack : after_) {
      const auto at = index.find({stack.functions, stack.lines});
      if (at != index.end()) Match(*at->second, stack, MatchKind::kLines);
    }
  }

  // Of the stacks with one key, as many on both sides are paired in the order of their lines; else
  // they are taken together.
  template <typename Key>
  void MatchBy(MatchKind kind, Key key) {
    struct Sides {
      std::vector<NamedStack*> before, after;
    };
    std::map<std::vector<std::string>, Sides> by_key;
    for (NamedStack& stack : before_)
      if (!stack.matched) by_key[key(stack)].before.push_back(&stack);
    for (NamedStack& stack : after_)
      if (!stack.matched) by_key[key(stack)].after.push_back(&stack);
    for (auto& [names, sides] : by_key) {
      if (names.empty() || sides.before.empty() || sides.after.empty()) continue;
      const auto by_lines = [](const NamedStack* a, const NamedStack* b) {
        return a->lines < b->lines;
      };
      std::stable_sort(sides.before.begin(), sides.before.end(), by_lines);
      std::stable_sort(sides.after.begin(), sides.after.end(), by_lines);
      if (sides.before.size() == sides.after.size()) {
        for (std::size_t i = 0; i < sides.before.size(); ++i)
          Match(*sides.before[i], *sides.after[i], kind);
        continue;
      }
      Pair pair{.match = kind};
      for (NamedStack* stack : sides.before) Take(*stack, pair.before);
      for (NamedStack* stack : sides.after) Take(*stack, pair.after);
      pairs_.push_back(std::move(pair));
    }
  }

  static void Take(NamedStack& stack, std::vector<StackId>& into) {
    stack.matched = true;
    into.insert(into.end(), stack.stacks.begin(), stack.stacks.end());
  }

  std::vector<NamedStack> before_, after_;
  std::vector<Pair> pairs_;
};

std::string PlaceName(const SourceFrame& site) {
  return site.function + '\n' + site.file + '\n' + std::to_string(site.line);
}

}  // namespace

StackAlignment AlignStacks(const Session& before, Symbols& before_symbols, const Session& after,
                           Symbols& after_symbols) {
  StackAlignment alignment;
  alignment.before.assign(before.stack_count() + 1, StackAlignment::kNone);
  alignment.after.assign(after.stack_count() + 1, StackAlignment::kNone);
  std::unordered_map<std::string, std::uint32_t> rows;
  const auto assign = [](std::vector<std::uint32_t>& of, StackId stack, std::uint32_t row) {
    of[std::min<std::size_t>(stack.value, of.size() - 1)] = row;
  };
  for (const Pair& pair :
       Aligner(NameStacks(before, before_symbols), NameStacks(after, after_symbols)).Align()) {
    SourceFrame site;
    if (!pair.after.empty() && pair.after[0].valid())
      site = after_symbols.Site(pair.after[0]);
    else if (pair.after.empty() && pair.before[0].valid())
      site = before_symbols.Site(pair.before[0]);
    const auto [at, fresh] =
        rows.try_emplace(PlaceName(site), static_cast<std::uint32_t>(alignment.places.size()));
    if (fresh) alignment.places.push_back({.site = site});
    AlignedPlace& place = alignment.places[at->second];
    place.match = std::max(place.match, pair.match);
    if (!pair.before.empty() && !place.before.valid()) place.before = pair.before[0];
    if (!pair.after.empty() && !place.after.valid()) place.after = pair.after[0];
    for (const StackId stack : pair.before) assign(alignment.before, stack, at->second);
    for (const StackId stack : pair.after) assign(alignment.after, stack, at->second);
  }
  return alignment;
}

}  // namespace memprof::analysis
