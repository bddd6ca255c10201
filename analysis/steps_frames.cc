// Reads functions and files of Python frames.
#include "analysis/steps_frames.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace memprof::analysis {
namespace {

constexpr std::size_t kLeastSteps = 4;

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// `function` is `name`, or a method of that name.
bool IsNamed(std::string_view function, std::string_view name) {
  if (!function.ends_with(name)) return false;
  return function.size() == name.size() || function[function.size() - name.size() - 1] == '.';
}

Role RoleOf(const Session& session, const Frame& frame) {
  if (!frame.python) return Role::kOther;
  const std::string_view function = session.string(frame.function);
  const std::string_view file = session.string(frame.file);
  if (Contains(file, "/optim/") || Contains(file, "/optimizers/")) return Role::kOptimizer;
  if (function.starts_with("backward") || IsNamed(function, "backward")) return Role::kBackward;
  return IsNamed(function, "forward") ? Role::kForward : Role::kOther;
}

}  // namespace

std::vector<Role> RolesOfStacks(const Session& session) {
  std::vector<Role> of_frame;
  for (std::uint32_t i = 0; i < session.frame_count(); ++i)
    of_frame.push_back(RoleOf(session, session.frame(FrameId(i))));
  std::vector<Role> roles;
  if (std::all_of(of_frame.begin(), of_frame.end(), [](Role r) { return r == Role::kOther; }))
    return roles;
  // A caller comes before what it calls.
  for (std::uint32_t i = 0; i < session.stack_count(); ++i) {
    const Role own = of_frame[session.StackFrame(StackId(i)).value];
    const StackId caller = session.StackParent(StackId(i));
    roles.push_back(own != Role::kOther || !caller.valid() ? own : roles[caller.value]);
  }
  return roles;
}

std::vector<Role> RolesOf(const Session& session, const std::vector<Role>& by_stack,
                          const StepStream& stream) {
  std::vector<Role> roles;
  if (by_stack.empty()) return roles;
  for (const EventId birth : stream.births) {
    const StackId stack = session.events().stack(birth.value);
    roles.push_back(stack.value < by_stack.size() ? by_stack[stack.value] : Role::kOther);
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
  constexpr std::size_t kOf = 5, kMost = 4;  // four of five
  std::size_t amid = 0, next = 0;
  Role before = Role::kOther;  // the last that says anything before `next`, which says something
  for (const std::uint32_t begin : begins) {
    while (next < roles.size() && (next < begin || roles[next] == Role::kOther)) {
      if (next < begin && roles[next] != Role::kOther) before = roles[next];
      ++next;
    }
    if (next == roles.size()) break;
    const bool learns = before == Role::kForward || before == Role::kBackward;
    if (learns && roles[next] == Role::kBackward) ++amid;
  }
  return !begins.empty() && amid * kOf >= begins.size() * kMost;
}

std::vector<std::uint32_t> StepsByOptimizer(const TokenStream& stream,
                                            const std::vector<Role>& roles) {
  std::vector<std::uint32_t> begins;
  std::size_t passes = 0, unanswered = 0;  // backward passes; since the optimizer last worked
  bool in_pass = false, worked = false;
  std::uint32_t first_pass = 0;
  for (std::uint32_t p = 0; p < roles.size(); ++p) {
    if (roles[p] == Role::kBackward && !in_pass) {
      if (passes++ == 0) first_pass = p;
      ++unanswered;
    }
    in_pass = roles[p] == Role::kBackward;
    if (roles[p] == Role::kOptimizer) {
      worked |= unanswered > 0;
      unanswered = 0;
    } else if (worked) {
      begins.push_back(p);
      worked = false;
    }
  }
  // An optimizer that seldom allocates does not tell its steps.
  if (begins.size() + 1 < kLeastSteps || unanswered * 2 > passes) return {};
  // The first step begins as the others do: set-up comes before it.
  std::map<std::uint32_t, std::size_t> openings;
  for (const std::uint32_t begin : begins) ++openings[stream.token[begin]];
  const std::uint32_t opening =
      std::max_element(openings.begin(), openings.end(), [](const auto& a, const auto& b) {
        return a.second < b.second;
      })->first;
  std::uint32_t first = 0;
  for (std::uint32_t p = 0; p < first_pass; ++p) {
    const bool forward = first == 0 && roles[p] == Role::kForward;
    if (stream.token[p] == opening || forward) first = p;
  }
  begins.insert(begins.begin(), first);
  // What follows the last work of the optimizer is no step unless it learns something.
  if (unanswered == 0 && !worked) begins.pop_back();
  return begins.size() < kLeastSteps ? std::vector<std::uint32_t>() : begins;
}

}  // namespace memprof::analysis
