// Reads stacks once each.
#include "analysis/categories/stacks.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_set.h"
#include "absl/strings/str_cat.h"
#include "analysis/symbols/plumbing.h"

namespace memprof::analysis {
namespace {

// With fewer stacks, functions that most stacks share cannot be distinguished from those with a
// purpose.
constexpr std::size_t kTooFewStacks = 8;

// The evidence of one function; cached by frame, because very many stacks share few frames.
struct Evidence {
  Phase phase = Phase::kNone;
  bool zeros = false;
  bool own = false;           // the program's, not a package's
  std::string_view function;  // with its file, where it is the program's own
};

class FrameWords {
 public:
  FrameWords(const Session& session, Symbols* symbols)
      : symbols_(symbols), evidence_(symbols != nullptr ? session.frame_count() : 0) {}

  // A function of the program is no optimizer by its name if a pass lies within it:
  // optimize_model() of many tutorials does a whole step, and its callees are better evidence.
  void Doubt(const std::vector<FrameId>& stack) {
    bool pass = false;
    for (const FrameId frame : stack) {
      for (const Evidence& evidence : Of(frame)) {
        if (pass && evidence.phase == Phase::kOptimizer && evidence.own)
          doubted_.insert(evidence.function);
        pass |= evidence.phase == Phase::kForward || evidence.phase == Phase::kBackward;
      }
    }
  }

  void Read(const std::vector<FrameId>& stack, CategoryStacks::Facts* facts) {
    for (const FrameId frame : stack) {
      for (const Evidence& evidence : Of(frame)) {
        if (facts->phase == Phase::kNone && evidence.zeros) facts->zeros = true;
        facts->backward |= evidence.phase == Phase::kBackward;
        if (evidence.phase == Phase::kNone || facts->phase != Phase::kNone) continue;
        if (evidence.phase == Phase::kOptimizer && doubted_.contains(evidence.function)) continue;
        // Gradients and parameters are purposes of memory; the phase is that of the callers.
        if (evidence.phase == Phase::kGradient || evidence.phase == Phase::kParameter)
          (evidence.phase == Phase::kGradient ? facts->gradient : facts->parameter) = true;
        else
          facts->phase = evidence.phase;
      }
    }
  }

 private:
  std::span<Evidence> Of(FrameId frame) {
    if (frame.value >= evidence_.size()) return {};
    std::vector<Evidence>& evidence = evidence_[frame.value];
    if (!evidence.empty()) return evidence;
    for (const SourceFrame& function : symbols_->Resolve(frame)) {
      const bool own = !IsPackage(function) && !IsPlumbing(function);
      evidence.push_back({PhaseOfFrame(function),
                          function.function.find("zeros_like") != std::string::npos, own,
                          own ? NameOf(function) : std::string_view()});
    }
    return evidence;
  }

  // The same for each line of the function.
  std::string_view NameOf(const SourceFrame& function) {
    return *names_.insert(absl::StrCat(function.function, "\n", function.file)).first;
  }

  Symbols* const symbols_;
  std::vector<std::vector<Evidence>> evidence_;  // innermost function first
  absl::node_hash_set<std::string> names_;
  absl::flat_hash_set<std::string_view> doubted_;
};

}  // namespace

CategoryStacks::CategoryStacks(const Session& session, Symbols* symbols,
                               std::span<const CategoryUnit> units)
    : row_(session.stack_count(), 0), facts_(1) {
  std::vector<StackId> stacks;
  for (const CategoryUnit& unit : units) {
    if (unit.stack.value >= row_.size() || row_[unit.stack.value] != 0) continue;
    stacks.push_back(unit.stack);
    row_[unit.stack.value] = static_cast<std::uint32_t>(stacks.size());
  }
  facts_.resize(stacks.size() + 1);
  absl::flat_hash_map<std::uint32_t, std::uint32_t> through;  // stacks, by frame
  std::vector<std::vector<FrameId>> frames;
  for (const StackId stack : stacks) {
    frames.push_back(session.StackFrames(stack));
    std::vector<FrameId> distinct = frames.back();
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    for (const FrameId frame : distinct) ++through[frame.value];
  }
  FrameWords words(session, symbols);
  for (const std::vector<FrameId>& stack : frames) words.Doubt(stack);
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    Facts& facts = facts_[i + 1];
    words.Read(frames[i], &facts);
    identify_parameters_ |= facts.parameter;
    identify_backward_ |= facts.backward;
    std::size_t at = 0;
    if (stacks.size() >= kTooFewStacks) {
      while (at < frames[i].size() && through[frames[i][at].value] * 4 > stacks.size()) ++at;
    }
    if (at >= frames[i].size()) continue;
    facts.site = frames[i][at].value;
    const std::uint32_t caller = at + 1 < frames[i].size() ? frames[i][at + 1].value : kNone;
    facts.leaf = (std::uint64_t{facts.site} << 32) | caller;
  }
}

}  // namespace memprof::analysis
