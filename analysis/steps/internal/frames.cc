// Reads functions and files of Python frames.
#include "analysis/steps/internal/frames.h"

#include <algorithm>
#include <string_view>

#include "analysis/base/text.h"

namespace memprof::analysis {
namespace {

// `function` is `name`, or a method of that name.
bool IsNamed(std::string_view function, std::string_view name) {
  if (!function.ends_with(name)) return false;
  return function.size() == name.size() || function[function.size() - name.size() - 1] == '.';
}

// Also the functions that process all gradients just before the optimizer.
bool IsOptimizer(std::string_view function, std::string_view file) {
  // Of PyTorch's folder of optimizers, averages of weights are made after some updates only.
  if (file.ends_with("/torch/optim/swa_utils.py")) return false;
  if (Contains(file, "/optim/") || Contains(file, "/optimizers/")) return true;
  if (file.ends_with("/torch/nn/utils/clip_grad.py")) return true;
  if (!file.ends_with("/torch/amp/grad_scaler.py")) return false;
  return Contains(function, "unscale") || IsNamed(function, "step") || IsNamed(function, "update");
}

// Code that autograd calls to recompute what was not kept.
bool RunsBackward(const Session& session, const Frame& frame) {
  if (!frame.python || !Contains(session.string(frame.file), "/torch/")) return false;
  const std::string_view function = session.string(frame.function);
  return IsNamed(function, "backward") || Contains(function, "unpack_hook");
}

Role RoleOf(const Session& session, const Frame& frame) {
  if (!frame.python) return Role::kOther;
  const std::string_view function = session.string(frame.function);
  const std::string_view file = session.string(frame.file);
  if (IsOptimizer(function, file)) return Role::kOptimizer;
  if (function.starts_with("backward") || IsNamed(function, "backward")) return Role::kBackward;
  return IsNamed(function, "forward") ? Role::kForward : Role::kOther;
}

}  // namespace

StackRoles RolesOfStacks(const Session& session) {
  std::vector<Role> of_frame;
  for (std::uint32_t i = 0; i < session.frame_count(); ++i)
    of_frame.push_back(RoleOf(session, session.frame(FrameId(i))));
  StackRoles stacks;
  if (std::all_of(of_frame.begin(), of_frame.end(), [](Role r) { return r == Role::kOther; }))
    return stacks;
  std::vector<bool> in_backward;
  // A caller comes before what it calls.
  for (std::uint32_t i = 0; i < session.stack_count(); ++i) {
    const FrameId frame = session.StackFrame(StackId(i));
    const Role own = of_frame[frame.value];
    const StackId caller = session.StackParent(StackId(i));
    const bool inherits = caller.valid();
    in_backward.push_back((inherits && in_backward[caller.value]) ||
                          RunsBackward(session, session.frame(frame)));
    const Role role = own != Role::kOther || !inherits ? own : stacks.role[caller.value];
    stacks.role.push_back(in_backward.back() ? Role::kBackward : role);
    const bool optimizer = own == Role::kOptimizer;
    const StackId above = inherits ? stacks.optimizer_caller[caller.value] : StackId();
    stacks.optimizer_caller.push_back(above.valid() || !optimizer ? above : caller);
  }
  return stacks;
}

std::vector<Role> RolesOf(const Session& session, const StackRoles& by_stack,
                          const StepStream& stream) {
  std::vector<Role> roles;
  if (by_stack.role.empty()) return roles;
  for (const EventId birth : stream.births) {
    const StackId stack = session.events().stack(birth.value);
    roles.push_back(stack.value < by_stack.role.size() ? by_stack.role[stack.value] : Role::kOther);
  }
  return roles;
}

std::vector<std::uint32_t> ForwardPasses(const std::vector<Role>& roles) {
  std::vector<std::uint32_t> begins;
  bool learnt = true;
  for (std::uint32_t p = 0; p < roles.size(); ++p) {
    if (learnt && roles[p] == Role::kForward) begins.push_back(p);
    if (roles[p] == Role::kForward) learnt = false;
    if (roles[p] == Role::kBackward) learnt = true;
  }
  return begins;
}

bool BeginAmidPasses(const std::vector<Role>& roles, const std::vector<std::uint32_t>& begins) {
  constexpr std::size_t kOf = 5, kEnough = 4;  // four of five
  std::size_t amid = 0, next = 0;
  Role before = Role::kOther;  // the last role before `next`, where there is another
  for (const std::uint32_t begin : begins) {
    while (next < roles.size() && (next < begin || roles[next] == Role::kOther)) {
      if (next < begin && roles[next] != Role::kOther) before = roles[next];
      ++next;
    }
    if (next == roles.size()) break;
    const bool learns = before == Role::kForward || before == Role::kBackward;
    if (learns && roles[next] == Role::kBackward) ++amid;
  }
  return !begins.empty() && amid * kOf >= begins.size() * kEnough;
}

bool LieInForwardPass(const Session& session, const StepStream& stream,
                      const std::vector<std::uint32_t>& begins) {
  if (begins.empty()) return false;
  std::vector<StackId> shared;  // the path that all share, outermost first
  StackId last;
  for (std::uint32_t p = begins.front(); p < begins.back(); ++p) {
    const StackId stack = session.events().stack(stream.births[p].value);
    if (p > begins.front() && stack == last) continue;
    last = stack;
    std::vector<StackId> path;
    for (StackId at = stack; at.valid(); at = session.StackParent(at)) path.push_back(at);
    std::reverse(path.begin(), path.end());
    if (p == begins.front()) shared = path;
    const auto differs =
        std::mismatch(shared.begin(), shared.end(), path.begin(), path.end()).first;
    shared.erase(differs, shared.end());
    if (shared.empty()) return false;
  }
  return std::any_of(shared.begin(), shared.end(), [&](StackId at) {
    return RoleOf(session, session.frame(session.StackFrame(at))) == Role::kForward;
  });
}

}  // namespace memprof::analysis
