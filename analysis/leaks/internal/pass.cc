#include "analysis/leaks/internal/pass.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/symbols/cxx_names.h"

namespace memprof::analysis {
namespace {

// The path that all stacks have in common, outermost call first, and the function that all of them
// call next. Only frames of Python count, and native ones that are a pass: in PyTorch's snapshots,
// the interpreter's native frames are between these at positions that differ from stack to stack.
class CommonPath {
 public:
  explicit CommonPath(const Session& session) : session_(session) {}

  void Add(StackId stack) {
    std::vector<FrameId> path;
    for (StackId at = stack; at.valid(); at = session_.StackParent(at)) {
      const FrameId frame = session_.StackFrame(at);
      if (File(frame).ends_with(".py") || IsPass(frame)) path.push_back(frame);
    }
    std::reverse(path.begin(), path.end());
    if (first_) {
      first_ = false;
      path_ = std::move(path);
      return;
    }
    const auto ends = std::mismatch(path_.begin(), path_.end(), path.begin(), path.end());
    const std::optional<FrameId> own = ends.first == path_.end() ? next_ : *ends.first;
    const bool alike = own && ends.second != path.end() && Function(*own) == Function(*ends.second);
    next_ = alike ? own : std::nullopt;
    path_.erase(ends.first, path_.end());
  }

  // Once false, it stays so: more stacks only shorten the path.
  bool HasPass() const {
    return (next_ && IsPass(*next_)) ||
           std::any_of(path_.begin(), path_.end(), [this](FrameId at) { return IsPass(at); });
  }

 private:
  bool IsPass(FrameId frame) const {
    if (!PassWords(Function(frame)).empty()) return true;
    // "forward" of "Net.forward", as Python 3.11 and later name it.
    std::string_view function = Function(frame);
    if (const std::size_t dot = function.rfind('.'); dot != std::string_view::npos)
      function.remove_prefix(dot + 1);
    if (function == "step") return File(frame).find("optim") != std::string_view::npos;
    return function == "forward" || function == "backward" || function == "_call_impl" ||
           function == "_wrapped_call_impl" || function == "_engine_run_backward" ||
           function.find("Engine::evaluate_function") != std::string_view::npos;
  }
  std::string_view Function(FrameId frame) const {
    return session_.string(session_.frame(frame).function);
  }
  std::string_view File(FrameId frame) const { return session_.string(session_.frame(frame).file); }

  const Session& session_;
  std::vector<FrameId> path_;
  std::optional<FrameId> next_;  // none = not the same for all, or they end there
  bool first_ = true;
};

}  // namespace

bool GrowsWithinOnePass(const Session& session, const LeakSite& site) {
  const std::vector<AllocationId>& survivors = site.judged_alive;
  if (survivors.size() < 2) return false;
  const std::size_t apart = survivors.size() / 20;
  const AllocationId first = survivors[apart];
  const AllocationId last = survivors[survivors.size() - 1 - apart];
  CommonPath common(session);
  for (AllocationId id = first; id <= last; ++id.value) {
    const AllocationRecord& a = session.record(id);
    if (a.layer != site.layer || session.ProcessOf(a.birth) != site.process) continue;
    if (!a.stack.valid()) return false;
    common.Add(a.stack);
    if (!common.HasPass()) return false;
  }
  return true;
}

}  // namespace memprof::analysis
