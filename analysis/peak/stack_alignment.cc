// Aligns stacks in three passes: by functions and lines, by functions, and by the functions that
// both runs have.
#include "analysis/peak/stack_alignment.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "analysis/symbols/stack_paths.h"

namespace memprof::analysis {
namespace {

// One distinct stack by names, with the stacks (addresses) that have it.
struct NamedStack {
  StackPaths::Path path;
  std::vector<StackId> stacks;
  std::uint32_t site = 0;  // the function of the user's place
  bool matched = false;
};

// One run.
class Run {
 public:
  Run(const Session& session, Symbols& symbols, NameTable& names, PathTrie& functions,
      PathTrie& lines)
      : paths_(session, symbols, names, functions, lines) {
    std::vector<bool> seen(session.stack_count() + 1, false);
    absl::flat_hash_map<StackPaths::Path, std::size_t> index;
    for (const AllocationRecord& a : session.records()) {
      if (a.layer == Layer::kTensor) continue;
      const std::size_t at = std::min<std::size_t>(a.stack.value, seen.size() - 1);
      if (seen[at]) continue;
      seen[at] = true;
      NamedStack stack{.path = paths_.Of(a.stack)};
      if (a.stack.valid()) stack.site = names.NumberOf(StackPaths::NameOf(symbols.Site(a.stack)));
      const auto [known, fresh] = index.try_emplace(stack.path, stacks_.size());
      if (fresh) stacks_.push_back(std::move(stack));
      stacks_[known->second].stacks.push_back(a.stack);
    }
  }

  std::vector<NamedStack>& stacks() { return stacks_; }
  StackPaths& paths() { return paths_; }

 private:
  StackPaths paths_;
  std::vector<NamedStack> stacks_;  // in order of their first allocation
};

// Stacks of both runs that are taken for the same.
struct Pair {
  std::vector<StackId> before, after;
  MatchKind match = MatchKind::kLines;
};

class Aligner {
 public:
  Aligner(const Session& before, Symbols& before_symbols, const Session& after,
          Symbols& after_symbols)
      : before_(before, before_symbols, names_, functions_, lines_),
        after_(after, after_symbols, names_, functions_, lines_),
        order_(lines_.Order()) {}

  std::vector<Pair> Align() {
    MatchExactly();
    MatchBy(MatchKind::kFunctions, [](Run&, const NamedStack& s) { return s.path.functions; });
    std::vector<bool> common = before_.paths().functions();
    const std::vector<bool>& others = after_.paths().functions();
    common.resize(std::min(common.size(), others.size()));
    for (std::size_t i = 0; i < common.size(); ++i) common[i] = common[i] && others[i];
    PathTrie folded;
    MatchBy(MatchKind::kFolded, [&](Run& run, const NamedStack& s) {
      // A site that the other run does not have is new, or gone, whatever calls it.
      if (s.site >= common.size() || !common[s.site]) return PathTrie::kRoot;
      return run.paths().FoldedOf(s.stacks[0], common, folded);
    });
    for (const NamedStack& stack : before_.stacks())
      if (!stack.matched) pairs_.push_back({stack.stacks, {}, MatchKind::kLines});
    for (const NamedStack& stack : after_.stacks())
      if (!stack.matched) pairs_.push_back({{}, stack.stacks, MatchKind::kLines});
    return std::move(pairs_);
  }

 private:
  void Match(NamedStack& a, NamedStack& b, MatchKind kind) {
    a.matched = b.matched = true;
    pairs_.push_back({a.stacks, b.stacks, kind});
  }

  void MatchExactly() {
    absl::flat_hash_map<StackPaths::Path, NamedStack*> index;
    for (NamedStack& stack : before_.stacks()) index[stack.path] = &stack;
    for (NamedStack& stack : after_.stacks()) {
      const auto at = index.find(stack.path);
      if (at != index.end()) Match(*at->second, stack, MatchKind::kLines);
    }
  }

  // Matches the stacks with the same key. If both sides have the same number of them, they are
  // paired in the order of their lines; else all of them are one group. The root is no key.
  template <typename Key>
  void MatchBy(MatchKind kind, Key key) {
    struct Sides {
      std::vector<NamedStack*> before, after;
    };
    std::vector<Sides> all;
    absl::flat_hash_map<std::uint32_t, std::size_t> by_key;
    const auto add = [&](Run& run, std::vector<NamedStack*> Sides::*side) {
      for (NamedStack& stack : run.stacks()) {
        if (stack.matched) continue;
        const std::uint32_t of_stack = key(run, stack);
        if (of_stack == PathTrie::kRoot) continue;
        const auto [at, fresh] = by_key.try_emplace(of_stack, all.size());
        if (fresh) all.emplace_back();
        (all[at->second].*side).push_back(&stack);
      }
    };
    add(before_, &Sides::before);
    add(after_, &Sides::after);
    for (Sides& sides : all) {
      if (sides.before.empty() || sides.after.empty()) continue;
      const auto by_lines = [this](const NamedStack* a, const NamedStack* b) {
        return order_[a->path.lines] < order_[b->path.lines];
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

  NameTable names_;
  PathTrie functions_, lines_;
  Run before_, after_;
  const std::vector<std::uint32_t> order_;  // of lines
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
  for (const Pair& pair : Aligner(before, before_symbols, after, after_symbols).Align()) {
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
