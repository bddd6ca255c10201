// Operators by the functions that PyTorch makes for them.
#include "analysis/peak/operators.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "analysis/symbols/backward_calls.h"

namespace memprof::analysis {
namespace {

constexpr std::uint32_t kUnresolved = 0xffffffff;

// Without parameters: "at::_ops::mm::call" of "at::_ops::mm::call(at::Tensor const&, …)".
std::string_view WithoutParameters(std::string_view function) {
  return function.substr(0, function.find('('));
}

// "mm" of at::_ops::mm::call, which callers of the operator call, and of at::_ops::mm::redispatch,
// which it calls itself: either may be inlined.
std::string CalledOperatorOf(std::string_view function) {
  constexpr std::string_view kScope = "at::_ops::", kCall = "::call";
  if (!function.starts_with(kScope) || !function.ends_with(kCall))
    return ForwardOperatorOf(function);
  function.remove_prefix(kScope.size());
  function.remove_suffix(kCall.size());
  return std::string(function);
}

}  // namespace

std::string OperatorOf(const std::vector<SourceFrame>& stack) {
  std::string op, node;
  for (const SourceFrame& frame : stack) {
    if (frame.python) break;  // frames further out called Python, which called this
    const std::string_view function = WithoutParameters(frame.function);
    if (std::string found = CalledOperatorOf(function); !found.empty()) op = std::move(found);
    if (std::string found = BackwardNodeOf(function); !found.empty()) node = std::move(found);
  }
  if (!node.empty()) return node;
  return op.empty() ? "" : absl::StrCat("aten::", op);
}

Operators::Operators(const Session& session, Symbols& symbols)
    : symbols_(symbols), by_stack_(session.stack_count(), kUnresolved) {}

std::uint32_t Operators::Of(StackId stack) {
  if (!stack.valid() || stack.value >= by_stack_.size()) return kNone;
  std::uint32_t& known = by_stack_[stack.value];
  if (known != kUnresolved) return known;
  std::string name = OperatorOf(symbols_.ResolveStack(stack));
  const auto at = std::find(names_.begin(), names_.end(), name);
  known = static_cast<std::uint32_t>(at - names_.begin());
  if (at == names_.end()) names_.push_back(std::move(name));
  return known;
}

}  // namespace memprof::analysis
