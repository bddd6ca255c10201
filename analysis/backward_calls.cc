// Follows forward calls and the nodes of backward passes.
#include "analysis/backward_calls.h"

#include <algorithm>

namespace memprof::analysis {
namespace {

// What a node may belong to at most: four passes back (a generator's forward pass comes before its
// discriminator's passes), and so many calls.
constexpr std::size_t kPasses = 4;
constexpr std::size_t kCalls = std::size_t{1} << 18;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Lower case, without underscores: "_log_softmax" and "LogSoftmax" are the same.
std::string Bare(std::string_view name) {
  std::string bare;
  for (const char c : name) {
    if (c == '_') continue;
    bare += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return bare;
}

// "Addmm" of "AddmmBackward0".
std::string_view WithoutBackward(std::string_view node) {
  while (!node.empty() && IsDigit(node.back())) node.remove_suffix(1);
  constexpr std::string_view kBackward = "Backward";
  if (node.ends_with(kBackward)) node.remove_suffix(kBackward.size());
  return node;
}

}  // namespace

std::string BackwardNodeOf(std::string_view function) {
  constexpr std::string_view kScope = "torch::autograd::", kGenerated = "generated::",
                             kApply = "::apply";
  if (!function.starts_with(kScope) || !function.ends_with(kApply)) return "";
  function.remove_prefix(kScope.size());
  function.remove_suffix(kApply.size());
  if (function.starts_with(kGenerated)) function.remove_prefix(kGenerated.size());
  const bool plain = function.find_first_of(":<(") == std::string_view::npos;
  return plain ? std::string(function) : "";
}

std::string ForwardOperatorOf(std::string_view function) {
  constexpr std::string_view kScope = "at::_ops::", kRedispatch = "::redispatch";
  if (!function.starts_with(kScope) || !function.ends_with(kRedispatch)) return "";
  function.remove_prefix(kScope.size());
  function.remove_suffix(kRedispatch.size());
  return std::string(function);
}

bool MakesNode(std::string_view op, std::string_view node) {
  const std::string wanted = Bare(WithoutBackward(node));
  if (wanted.empty()) return false;
  // Behind the operator's own name stands that of an overload: "add_Tensor", "nll_loss_forward".
  for (std::size_t end = op.size(); end != std::string_view::npos && end > 0;
       end = op.rfind('_', end - 1)) {
    if (Bare(op.substr(0, end)) == wanted) return true;
  }
  return false;
}

bool BackwardCalls::Current::Continues(std::uint32_t at, Request request) {
  const bool same = call == at && !places.contains(request.place);
  if (!same) places.clear();
  call = at;
  if (request.done) places.insert(request.place);
  return same;
}

std::uint32_t BackwardCalls::OperatorId(const std::string& op) {
  const auto [at, fresh] =
      operator_ids_.try_emplace(op, static_cast<std::uint32_t>(operators_.size()));
  if (fresh) {
    operators_.push_back(op);
    calls_of_operator_.emplace_back();
    for (auto& [node, ops] : operators_of_node_)
      if (MakesNode(op, node)) ops.push_back(at->second);
  }
  return at->second;
}

const std::vector<std::uint32_t>& BackwardCalls::OperatorsOf(const std::string& node) {
  const auto [at, fresh] = operators_of_node_.try_emplace(node);
  if (fresh) {
    for (std::uint32_t i = 0; i < operators_.size(); ++i)
      if (MakesNode(operators_[i], node)) at->second.push_back(i);
  }
  return at->second;
}

void BackwardCalls::Forward(const std::string& op, std::uint32_t call, Request request,
                            std::uint32_t stack) {
  if (forward_.Continues(call, request)) return;
  backward_.call = kNone;  // a node that runs after it is another run
  if (stack_of_call_.size() >= kCalls) Forget();
  calls_of_operator_[OperatorId(op)].push_back(first_ + stack_of_call_.size());
  stack_of_call_.push_back(stack);
}

// Half of the calls.
void BackwardCalls::Forget() {
  const std::size_t half = stack_of_call_.size() / 2;
  stack_of_call_.erase(stack_of_call_.begin(),
                       stack_of_call_.begin() + static_cast<std::ptrdiff_t>(half));
  first_ += half;
  for (std::deque<std::uint64_t>& calls : calls_of_operator_)
    while (!calls.empty() && calls.front() < first_) calls.pop_front();
}

void BackwardCalls::BeginPass() {
  limit_ = pass_begin_ = first_ + stack_of_call_.size();
  passes_.push_back(pass_begin_);
  if (passes_.size() > kPasses) passes_.pop_front();
  last_partner_ = kNone;
  waiting_.clear();
}

// The nearest call before limit_ that may have made `node`; ~0 if there is none.
std::uint64_t BackwardCalls::FindPartner(const std::string& node) {
  constexpr std::uint64_t kNothing = ~std::uint64_t{0};
  std::uint64_t best = kNothing;
  const std::uint64_t oldest = passes_.size() < kPasses ? first_ : std::max(first_, passes_[0]);
  for (const std::uint32_t op : OperatorsOf(node)) {
    const std::deque<std::uint64_t>& calls = calls_of_operator_[op];
    const auto after = std::lower_bound(calls.begin(), calls.end(), limit_);
    if (after == calls.begin() || *(after - 1) < oldest) continue;
    if (best == kNothing || *(after - 1) > best) best = *(after - 1);
  }
  return best;
}

std::uint32_t BackwardCalls::Backward(const std::string& node, std::uint32_t call,
                                      Request request) {
  if (backward_.Continues(call, request)) return backward_.index;
  forward_.call = kNone;
  if (first_ + stack_of_call_.size() != pass_begin_ || passes_.empty()) BeginPass();
  const auto run = static_cast<std::uint32_t>(runs_.size());
  backward_.index = run;
  runs_.emplace_back();
  Partner& partner = runs_.back();
  const std::uint64_t found = FindPartner(node);
  if (found == ~std::uint64_t{0}) {
    partner.before = last_partner_;
    waiting_.push_back(run);
    return run;
  }
  limit_ = found;
  partner.stack = last_partner_ = stack_of_call_[found - first_];
  for (const std::uint32_t earlier : waiting_) runs_[earlier].after = partner.stack;
  waiting_.clear();
  return run;
}

}  // namespace memprof::analysis
