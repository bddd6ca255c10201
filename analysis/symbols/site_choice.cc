// Counts how many stacks pass through each function, and picks sites by it.
#include "analysis/symbols/site_choice.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace memprof::analysis {
namespace {

// With fewer distinct stacks there is no majority, and only names decide.
constexpr std::uint32_t kFewStacks = 4;
// A frame that is in more than one of four stacks is not particular to any.
constexpr std::uint32_t kOneOf = 4;
// A line of Python that fewer lines call is no helper, however many stacks have it.
constexpr std::uint32_t kCallersOfHelper = 4;

// For a stack of plumbing only: its most informative frame. The innermost Python line; else the
// called operator; else one that is neither CUDA's nor an allocator's.
std::size_t MostInformative(const std::vector<SourceFrame>& frames) {
  const auto python = std::find_if(frames.begin(), frames.end(), [](const SourceFrame& frame) {
    return IsPythonCode(frame) && frame.symbolised && !IsAgentFile(frame.file);
  });
  if (python != frames.end()) return static_cast<std::size_t>(python - frames.begin());
  for (std::size_t i = frames.size(); i-- > 0;)
    if (frames[i].function.starts_with("at::_ops::")) return i;
  static constexpr std::string_view kInner[] = {"libcuda", "libsimcuda", "libmemprof",
                                                "libc10",  "libstdc++",  "libc++",
                                                "libc.so", "ld-linux"};
  const auto inner = [](const SourceFrame& frame) {
    return !frame.symbolised || frame.function.starts_with("c10::") ||
           std::any_of(std::begin(kInner), std::end(kInner), [&frame](std::string_view module) {
             return frame.module.starts_with(module);
           });
  };
  const auto other = std::find_if_not(frames.begin(), frames.end(), inner);
  return other == frames.end() ? 0 : static_cast<std::size_t>(other - frames.begin());
}

// `python -c "from multiprocessing.spawn import spawn_main; ..."`, which no user wrote.
bool IsChildsProgram(const std::vector<SourceFrame>& frames, std::size_t i) {
  if (frames[i].file != "<string>") return false;
  while (i-- > 0)
    if (frames[i].python)
      return frames[i].file.ends_with("/multiprocessing/spawn.py") ||
             frames[i].file.ends_with("/multiprocessing/forkserver.py");
  return false;
}

}  // namespace

int SiteChooser::GroupOf(Layer layer) {
  if (layer == Layer::kBlock) return 1;
  if (layer == Layer::kTensor) return 2;
  return 0;
}

SiteChooser::SiteChooser(const Session& session, Symbols& symbols)
    : group_of_stack_(session.stack_count(), -1),
      layer_of_stack_(session.stack_count(), Layer::kLinear),
      wrappers_(session, symbols) {
  std::vector<bool> seen(session.frame_count(), false);
  std::vector<std::uint32_t> last_stack;  // that passed through a place
  absl::flat_hash_set<std::pair<std::uint32_t, std::uint32_t>>
      calls;  // of Python, by place: called, caller
  for (const AllocationRecord& allocation : session.records()) {
    if (!allocation.stack.valid() || allocation.stack.value >= group_of_stack_.size()) continue;
    std::int8_t& group = group_of_stack_[allocation.stack.value];
    if (group >= 0) continue;
    group = static_cast<std::int8_t>(GroupOf(allocation.layer));
    layer_of_stack_[allocation.stack.value] = allocation.layer;
    ++stacks_[static_cast<std::size_t>(group)];
    std::optional<std::uint32_t> called;
    for (const FrameId frame : session.StackFrames(allocation.stack)) {
      const bool fresh = frame.value < seen.size() && !seen[frame.value];
      if (fresh) seen[frame.value] = true;
      for (const SourceFrame& resolved : symbols.Resolve(frame)) {  // stays where it is: a cache
        if (!resolved.found) continue;
        const std::uint32_t place = resolved.found->place;
        if (place >= through_.size()) {
          through_.resize(place + 1);
          callers_.resize(place + 1);
          last_stack.resize(place + 1, StackId::kNone);
        }
        if (std::exchange(last_stack[place], allocation.stack.value) != allocation.stack.value)
          ++through_[place][static_cast<std::size_t>(group)];
        if (IsPythonCode(resolved)) {
          if (called && calls.insert({*called, place}).second) ++callers_[*called];
          called = place;
        }
        if (!fresh) continue;
        python_ |= IsPythonCode(resolved);
        if (!IsPlumbing(resolved)) files_.Add(resolved);
      }
    }
  }
}

bool SiteChooser::IsOwnLine(const SourceFrame& frame) const {
  return IsPythonCode(frame) && !IsPackage(frame) && frame.found &&
         frame.found->place < callers_.size() && callers_[frame.found->place] < kCallersOfHelper;
}

std::size_t SiteChooser::Particular(StackId stack, const std::vector<SourceFrame>& frames,
                                    std::size_t begin, const std::vector<bool>& skipped) const {
  const int group = stack.value < group_of_stack_.size() ? group_of_stack_[stack.value] : -1;
  const bool known = group >= 0;
  const auto of_group = [&](const std::array<std::uint32_t, kGroups>& counts) {
    return known ? counts[static_cast<std::size_t>(group)] : counts[0] + counts[1];
  };
  const std::uint32_t stacks = of_group(stacks_);
  std::size_t best = frames.size();
  std::uint32_t fewest = 0;
  std::size_t unseen = frames.size();  // in no allocation's stack, such as a failure's report
  std::string_view made;               // the class of the last shared constructor
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (skipped[i]) continue;
    if (i < begin) {
      if (IsConstructor(frames[i].function)) made = ScopeOf(frames[i].function);
      continue;
    }
    if (i == begin && begin > 0 && !known) return i;
    const auto& found = frames[i].found;
    const std::uint32_t count =
        found && found->place < through_.size() ? of_group(through_[found->place]) : 0;
    if (!known && count == 0 && !IsPythonCode(frames[i])) {
      unseen = std::min(unseen, i);
      continue;
    }
    if (stacks < kFewStacks) return i;
    const bool shared = count * kOneOf > stacks;
    const bool door = !made.empty() && ScopeOf(frames[i].function) == made;
    if (!shared && !door) return i;
    if (IsOwnLine(frames[i])) return best < i && IsPackage(frames[best]) ? best : i;
    if (shared && !door)
      made = IsConstructor(frames[i].function) ? ScopeOf(frames[i].function) : std::string_view();
    if (best == frames.size() || count < fewest) {
      best = i;
      fewest = count;
    }
  }
  if (best == frames.size()) best = unseen;
  return best == frames.size() ? MostInformative(frames) : best;
}

std::vector<bool> SiteChooser::Skipped(const std::vector<SourceFrame>& frames) const {
  const bool python = python_ || std::any_of(frames.begin(), frames.end(), IsPythonCode);
  std::vector<bool> skipped(frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i)
    skipped[i] = IsPlumbing(frames[i]) || IsChildsProgram(frames, i) ||
                 (python && frames[i].python && !IsPythonCode(frames[i]));
  return skipped;
}

SiteChooser::Choice SiteChooser::Choose(StackId stack,
                                        const std::vector<SourceFrame>& frames) const {
  const std::vector<bool> skipped = Skipped(frames);
  const Layer layer =
      stack.value < layer_of_stack_.size() ? layer_of_stack_[stack.value] : Layer::kLinear;
  const std::size_t begin = wrappers_.PassedBy(frames, layer);
  const std::size_t place = Particular(stack, frames, begin, skipped);
  Choice choice{.user = place};
  if (skipped[place]) return choice;
  if (begin > 0 && place == begin) {
    choice.library = begin - 1;
    while (skipped[*choice.library]) --*choice.library;
  }
  if (!IsPackage(frames[place])) return choice;
  for (std::size_t i = place + 1; i < frames.size(); ++i) {
    if (skipped[i] || IsPackage(frames[i])) continue;
    return {.user = i, .library = place};
  }
  return choice;
}

}  // namespace memprof::analysis
