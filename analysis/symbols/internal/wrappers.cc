// Counts by how many lines functions allocate, and from how many places they are called.
#include "analysis/symbols/internal/wrappers.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"
#include "analysis/symbols/cxx_names.h"
#include "analysis/symbols/plumbing.h"

namespace memprof::analysis {
namespace {

// Functions nested more deeply than this are not treated as wrappers.
constexpr std::size_t kLevels = 6;
// The least number of callers of a wrapper; and of a wrapper whose inner wrapper has no other
// caller: a function that allocates by one inner function may be the place itself.
constexpr std::uint32_t kCallers = 2, kCallersThrough = 3;
constexpr std::size_t kThrough = 2;

}  // namespace

template <typename IdOf>
Wrappers::Facts Wrappers::Look(const SourceFrame& frame, IdOf id_of) {
  Facts facts{.python = IsPythonCode(frame)};
  if (IsPlumbing(frame)) return facts;
  facts.kind = facts.python || IsPackage(frame) ? Kind::kOther
               : frame.python                   ? Kind::kImported
                                                : Kind::kNative;
  const std::string function = WithoutTemplateArguments(BareName(frame.function));
  facts.function = id_of(function);
  facts.place = id_of(absl::StrCat(function, "\n", frame.file, "\n", frame.line));
  return facts;
}

Wrappers::Candidates Wrappers::Choose(const std::vector<Facts>& frames) {
  const bool python =
      std::any_of(frames.begin(), frames.end(), [](const Facts& facts) { return facts.python; });
  Candidates candidates;
  for (std::size_t i = 0; i < std::min(frames.size(), kDepth); ++i) {
    const Facts& facts = frames[i];
    if (facts.kind == Kind::kPlumbing || (python && facts.kind == Kind::kImported)) continue;
    candidates.push_back(
        {facts.function, facts.place, static_cast<std::uint16_t>(i), facts.kind != Kind::kOther});
  }
  return candidates;
}

Wrappers::Wrappers(const Session& session, Symbols& symbols) {
  std::vector<std::vector<Facts>> known(session.frame_count());
  const auto id_of = [this](const std::string& name) {
    return ids_.try_emplace(name, static_cast<std::uint32_t>(ids_.size())).first->second;
  };
  std::vector<bool> seen(session.stack_count(), false);
  std::vector<std::pair<StackId, Layer>> stacks;
  for (const AllocationRecord& allocation : session.records()) {
    if (!allocation.stack.valid() || allocation.stack.value >= seen.size() ||
        seen[allocation.stack.value])
      continue;
    seen[allocation.stack.value] = true;
    stacks.emplace_back(allocation.stack, allocation.layer);
  }
  std::vector<Facts> frames;
  const auto candidates = [&](StackId stack) {
    frames.clear();
    for (const FrameId id : session.StackFrames(stack)) {
      if (frames.size() >= kDepth || id.value >= known.size()) break;
      std::vector<Facts>& facts = known[id.value];
      if (facts.empty())
        for (const SourceFrame& frame : symbols.Resolve(id)) facts.push_back(Look(frame, id_of));
      frames.insert(frames.end(), facts.begin(), facts.end());
    }
    return Choose(frames);
  };
  for (const auto& [stack, layer] : stacks) CountLines(candidates(stack), layer);
  for (const auto& [stack, layer] : stacks) CountCallers(candidates(stack), layer);
}

void Wrappers::CountLines(const Candidates& stack, Layer layer) {
  for (std::size_t i = 0; i < stack.size(); ++i) {
    // In a recursive function, the innermost line allocates.
    const auto before = std::span(stack).first(i);
    if (std::any_of(before.begin(), before.end(),
                    [&](const Candidate& c) { return c.function == stack[i].function; }))
      continue;
    ++by_function_[{stack[i].function, layer}];
    ++by_place_[{stack[i].place, layer}];
  }
}

bool Wrappers::ByOneLine(const Candidate& candidate, Layer layer) const {
  if (!candidate.native) return false;
  const auto all = by_function_.find({candidate.function, layer});
  const auto here = by_place_.find({candidate.place, layer});
  // Some stacks may use another line, such as a second attempt after a failure.
  return all != by_function_.end() && here != by_place_.end() &&
         std::uint64_t{here->second} * 4 >= std::uint64_t{all->second} * 3;
}

void Wrappers::CountCallers(const Candidates& stack, Layer layer) {
  if (stack.empty() || !ByOneLine(stack[0], layer)) return;
  const auto fresh_way = [this](auto& ways, auto key) {
    const auto [at, fresh] = ways.try_emplace(key, static_cast<std::uint32_t>(callers_.size()));
    if (fresh) callers_.push_back(0);
    return std::pair(at->second, fresh);
  };
  std::uint32_t way = fresh_way(roots_, stack[0].place).first;
  for (std::size_t i = 1; i < std::min(stack.size(), kLevels + 1); ++i) {
    const auto [next, fresh] = fresh_way(ways_, std::pair(way, stack[i].place));
    if (fresh && stack[i].function != stack[i - 1].function) ++callers_[way];
    if (!ByOneLine(stack[i], layer)) return;
    way = next;
  }
}

std::size_t Wrappers::PassedBy(const std::vector<SourceFrame>& frames, Layer layer) const {
  const auto id_of = [this](const std::string& name) {
    const auto found = ids_.find(name);
    return found == ids_.end() ? kUnknown : found->second;
  };
  std::vector<Facts> facts;
  for (const SourceFrame& frame : std::span(frames).first(std::min(frames.size(), kDepth)))
    facts.push_back(Look(frame, id_of));
  const Candidates stack = Choose(facts);
  if (stack.empty()) return 0;
  const auto root = roots_.find(stack[0].place);
  if (root == roots_.end()) return 0;
  std::uint32_t way = root->second;
  std::size_t base = 0, passed = 0;
  for (std::size_t i = 0; i + 1 < stack.size() && i < kLevels; ++i) {
    if (!ByOneLine(stack[i], layer) || i - base > kThrough) break;
    if (callers_[way] >= (i == base ? kCallers : kCallersThrough)) {
      base = i + 1;
      passed = stack[i + 1].frame;
    }
    const auto next = ways_.find({way, stack[i + 1].place});
    if (next == ways_.end()) break;
    way = next->second;
  }
  return passed;
}

}  // namespace memprof::analysis
