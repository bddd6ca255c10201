// Follows forward calls and the nodes of backward passes.
#include "analysis/symbols/backward_calls.h"

#include <algorithm>

#include "analysis/base/alignment.h"
#include "analysis/base/text.h"

namespace memprof::analysis {
namespace {

// The candidates for a node: the calls of the last four passes (a generator's forward pass precedes
// the passes of its discriminator), and of each pass the last kCalls.
constexpr std::size_t kPasses = 4;
constexpr std::uint64_t kCalls = std::uint64_t{1} << 15;  // docs/python-stacks.md has it
// Fewer runs may match by chance.
constexpr std::size_t kFewRuns = 3;
constexpr std::uint64_t kNoCall = ~std::uint64_t{0};

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
  if (node.starts_with(kPythonNode)) return op == node;
  const std::string wanted = Bare(WithoutBackward(node));
  if (wanted.empty()) return false;
  // The operator's name is followed by that of an overload: "add_Tensor", "nll_loss_forward".
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
    kinds_of_operator_.emplace_back();
    for (Kind kind = 0; kind < nodes_.size(); ++kind)
      if (MakesNode(op, nodes_[kind])) Join(at->second, kind);
  }
  return at->second;
}

BackwardCalls::Kind BackwardCalls::KindId(const std::string& node) {
  const auto [at, fresh] = node_ids_.try_emplace(node, static_cast<Kind>(nodes_.size()));
  if (fresh) {
    nodes_.push_back(node);
    is_made_.push_back(false);
    for (std::uint32_t i = 0; i < operators_.size(); ++i)
      if (MakesNode(operators_[i], node)) Join(i, at->second);
  }
  return at->second;
}

void BackwardCalls::Join(std::uint32_t op, Kind kind) {
  kinds_of_operator_[op].push_back(kind);
  is_made_[kind] = true;
}

void BackwardCalls::Forward(const std::string& op, std::uint32_t call, Request request,
                            std::uint32_t stack) {
  if (forward_.Continues(call, request)) return;
  backward_.call = kNone;  // a node that runs after it is another run
  if (pass_ < runs_.size()) EndPass();
  if (stretches_.empty() || stretches_.back().end != kNoCall) {
    stretches_.push_back({first_ + calls_.size(), kNoCall});
    if (stretches_.size() > kPasses) stretches_.pop_front();
  }
  calls_.push_back({.op = OperatorId(op), .stack = stack});
  // Only the last stretch grows.
  if (first_ + calls_.size() - stretches_.back().begin > 2 * kCalls)
    stretches_.back().begin += kCalls;
  while (first_ < stretches_.front().begin) {
    calls_.pop_front();
    ++first_;
  }
}

std::uint32_t BackwardCalls::Backward(const std::string& node, std::uint32_t call,
                                      Request request) {
  if (backward_.Continues(call, request)) return backward_.index;
  forward_.call = kNone;
  if (!stretches_.empty()) stretches_.back().end = first_ + calls_.size();
  const auto run = static_cast<std::uint32_t>(runs_.size());
  backward_.index = run;
  runs_.emplace_back();
  pass_kinds_.push_back(KindId(node));
  return run;
}

BackwardCalls::Alignment BackwardCalls::AlignWith(Stretch stretch, Part part,
                                                  bool taken_too) const {
  const std::uint64_t begin = std::max(stretch.begin, stretch.end - std::min(stretch.end, kCalls));
  const auto columns = static_cast<std::uint32_t>(stretch.end - begin);
  // The kinds of this part, with numbers from 0 on: each gets a set of columns.
  std::vector<std::uint32_t> number(nodes_.size(), kNone), rows;
  std::vector<ColumnSet> fits;
  for (std::size_t i = part.begin; i < part.end; ++i) {
    std::uint32_t& of_kind = number[pass_kinds_[i]];
    if (of_kind == kNone) {
      of_kind = static_cast<std::uint32_t>(fits.size());
      fits.emplace_back((columns + 63) / 64);
    }
    rows.push_back(of_kind);
  }
  for (std::uint32_t column = 0; column < columns; ++column) {
    const Call& call = calls_[begin - first_ + column];
    if (call.taken && !taken_too) continue;
    for (const Kind kind : kinds_of_operator_[call.op])
      if (number[kind] != kNone) fits[number[kind]][column / 64] |= std::uint64_t{1} << column % 64;
  }
  Alignment alignment;
  for (const std::uint32_t column : Align(rows, fits, columns)) {
    alignment.calls.push_back(column == kUnaligned ? kNoCall : begin + column);
    if (column != kUnaligned) ++alignment.found;
  }
  return alignment;
}

// Uses the stretch with most partners; an earlier one only if it has clearly more.
BackwardCalls::Alignment BackwardCalls::BestOf(Part part, bool taken_too) const {
  Alignment best;
  for (std::size_t i = stretches_.size(); i-- > 0;) {
    Alignment alignment = AlignWith(stretches_[i], part, taken_too);
    if (alignment.found > best.found + best.found / 4) best = std::move(alignment);
  }
  return best;
}

// At least half of the possible pairs must be found; for a part of a pass, also more than by
// chance.
BackwardCalls::Alignment BackwardCalls::Find(Part part) const {
  const auto first = pass_kinds_.begin() + static_cast<std::ptrdiff_t>(part.begin);
  const auto last = pass_kinds_.begin() + static_cast<std::ptrdiff_t>(part.end);
  const auto can = static_cast<std::size_t>(
      std::count_if(first, last, [this](Kind kind) { return is_made_[kind]; }));
  const bool whole = part.end - part.begin == pass_kinds_.size();
  if (can < (whole ? 1 : kFewRuns)) return {};
  Alignment best = BestOf(part, false);
  if (2 * best.found >= can) return best;
  // A graph that the program keeps can be visited again.
  Alignment again = BestOf(part, true);
  if (2 * again.found >= can || (whole && again.found > 2 * best.found)) return again;
  return whole ? best : Alignment();
}

// The runs of a pass belong to one stretch. Those before the first run that has a partner there,
// and those after the last one, may belong to another graph.
void BackwardCalls::EndPass() {
  std::vector<Part> parts = {{0, pass_kinds_.size()}};
  while (!parts.empty()) {
    const Part part = parts.back();
    parts.pop_back();
    const Alignment alignment = Find(part);
    if (alignment.found == 0) continue;
    std::size_t first = part.end, behind = part.begin;
    for (std::size_t i = part.begin; i < part.end; ++i) {
      const std::uint64_t call = alignment.calls[i - part.begin];
      if (call == kNoCall) continue;
      runs_[pass_ + i].stack = calls_[call - first_].stack;
      calls_[call - first_].taken = true;
      first = std::min(first, i);
      behind = i + 1;
    }
    parts.push_back({part.begin, first});
    parts.push_back({behind, part.end});
  }
  SetNeighbours();
  pass_ = runs_.size();
  pass_kinds_.clear();
}

void BackwardCalls::SetNeighbours() {
  std::uint32_t known = kNone;
  for (std::size_t i = pass_; i < runs_.size(); ++i) {
    if (runs_[i].stack != kNone) {
      known = runs_[i].stack;
    } else {
      runs_[i].before = known;
    }
  }
  known = kNone;
  for (std::size_t i = runs_.size(); i-- > pass_;) {
    if (runs_[i].stack != kNone) {
      known = runs_[i].stack;
    } else {
      runs_[i].after = known;
    }
  }
}

}  // namespace memprof::analysis
