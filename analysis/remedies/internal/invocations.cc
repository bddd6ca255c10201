// Follows the lines of Python from one allocation to the next.
#include "analysis/remedies/internal/invocations.h"

#include <algorithm>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "analysis/base/numbering.h"

namespace memprof::analysis::remedies {
namespace {

// Code that only calls its parts: to repeat all of it saves nothing that its parts do not.
bool IsContainer(std::string_view function) {
  return function.starts_with("Sequential.") || function.starts_with("ModuleList.") ||
         function.starts_with("DistributedDataParallel.") || function.starts_with("DataParallel.");
}

struct Level {
  std::uint32_t function = 0;
  int line = 0;
  bool forward = false;  // of a module

  bool operator==(const Level&) const = default;
};

// A function that is being called, as far as its allocations show.
struct Open {
  Level level;
  int first_line = 0;
  std::size_t invocation = 0;  // row of the list; only of forward()
};

class Follower {
 public:
  Follower(const Input& input, Invocations* result) : input_(input), result_(*result) {}

  void Follow() {
    const std::vector<Block>& blocks = input_.training.blocks;
    for (std::uint32_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].part != Part::kForward) continue;
      if (!open_.empty() && blocks[i].pass != pass_) open_.clear();
      pass_ = blocks[i].pass;
      Visit(LevelsOf(blocks[i].stack), i);
    }
  }

 private:
  // Outermost first.
  const std::vector<Level>& LevelsOf(StackId stack) {
    const auto [it, fresh] = levels_.try_emplace(stack.value);
    if (!fresh) return it->second;
    std::vector<Level>& levels = it->second;
    for (const SourceFrame& frame : input_.symbols.ResolveStack(stack)) {
      if (!frame.python) continue;
      const std::uint32_t number = names_.Of(absl::StrCat(frame.function, "\n", frame.file));
      if (number == result_.names.size()) result_.names.push_back(frame.function);
      const bool forward = frame.function.ends_with(".forward") && !IsContainer(frame.function);
      levels.push_back({number, frame.line, forward});
    }
    std::reverse(levels.begin(), levels.end());
    return levels;
  }

  void Visit(const std::vector<Level>& levels, std::uint32_t block) {
    std::size_t depth = 0;
    while (depth < levels.size() && depth < open_.size()) {
      Open& open = open_[depth];
      const Level& now = levels[depth];
      if (open.level.function != now.function) break;
      if (now.line != open.level.line) {
        if (now.line <= open.first_line) break;  // called again
        open.level.line = now.line;
        ++depth;
        break;  // calls another function, or the same one again
      }
      ++depth;
    }
    open_.resize(depth);
    for (; depth < levels.size(); ++depth) {
      open_.push_back({levels[depth], levels[depth].line, result_.list.size()});
      if (levels[depth].forward)
        result_.list.push_back({levels[depth].function, pass_, block, block, {}});
    }
    for (const Open& open : open_) {
      if (!open.level.forward) continue;
      Invocation& invocation = result_.list[open.invocation];
      invocation.last = block;
      invocation.blocks.push_back(block);
    }
  }

  const Input& input_;
  Invocations& result_;
  Numbering<std::string> names_;
  std::unordered_map<std::uint32_t, std::vector<Level>> levels_;
  std::vector<Open> open_;
  std::uint32_t pass_ = 0;
};

}  // namespace

Invocations FindInvocations(const Input& input) {
  Invocations result;
  Follower(input, &result).Follow();
  return result;
}

}  // namespace memprof::analysis::remedies
