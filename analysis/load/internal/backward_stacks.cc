// Finds PyTorch's engine in stacks, and joins backward and forward ones.
#include "analysis/load/internal/backward_stacks.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "analysis/base/text.h"
#include "analysis/symbols/site_choice.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {
namespace {

constexpr std::string_view kEngine = "torch::autograd::Engine::evaluate_function";
// In torch.autograd.Function: its callees run without a graph; the graph has one node for the whole
// function.
constexpr std::string_view kApplyFunction = "THPFunction_apply";
// Allocations of one run of a Python function that may be at one place.
constexpr std::size_t kNeighbours = 16;

bool IsCore(std::string_view path) {
  const std::string_view name = BaseName(path);
  return name.starts_with("libtorch_cpu") || name.starts_with("libtorch.so");
}

bool Asks(Op op) {
  return op == Op::kAlloc || op == Op::kSampled || op == Op::kAllocFailed ||
         op == Op::kFrameworkOom;
}

}  // namespace

std::uint32_t BackwardStacks::RunOf(Runs* runs, StackId parent, std::uint32_t name) const {
  const auto number = static_cast<std::uint32_t>(tables_.stack_parent.size() + runs->size());
  return runs->try_emplace({parent.valid() ? parent.value : kNone, name}, number).first->second;
}

BackwardStacks::BackwardStacks(SessionTables* tables, FunctionName name)
    : tables_(*tables), name_(std::move(name)) {}

bool BackwardStacks::HasPyTorch() {
  for (const ModuleInfo& module : tables_.modules) {
    is_core_.push_back(IsCore(module.path));
    is_python_.push_back(BaseName(module.path).starts_with("libtorch_python"));
    is_torch_.push_back(BaseName(module.path).starts_with("libtorch"));
  }
  return std::find(is_core_.begin(), is_core_.end(), true) != is_core_.end();
}

std::uint32_t BackwardStacks::Name(std::string name) {
  const auto [at, fresh] =
      name_ids_.try_emplace(std::move(name), static_cast<std::uint32_t>(names_.size()));
  if (fresh) names_.push_back(at->first);
  return at->second;
}

StringId BackwardStacks::Text(const std::string& text) {
  const auto [at, fresh] =
      text_ids_.try_emplace(text, static_cast<std::uint32_t>(tables_.strings.size()));
  if (fresh) tables_.strings.push_back(text);
  return StringId(at->second);
}

bool BackwardStacks::IsUsers(const Frame& frame) const {
  SourceFrame source{.module = "python", .python = true, .symbolised = frame.function.valid()};
  if (!source.symbolised) return false;
  source.function = tables_.strings[frame.function.value];
  if (frame.file.valid()) source.file = tables_.strings[frame.file.value];
  return !IsPlumbing(source);
}

BackwardStacks::FrameFacts BackwardStacks::Look(const Frame& frame) {
  FrameFacts facts;
  if (frame.python || frame.module >= is_core_.size()) return facts;
  if (!is_core_[frame.module] && !is_python_[frame.module]) return facts;
  const std::string function = name_(frame.module, frame.address);
  facts.applies = std::string_view(function).ends_with(kApplyFunction);
  if (!is_core_[frame.module]) return facts;
  facts.engine = function == kEngine;
  if (std::string node = BackwardNodeOf(function); !node.empty())
    facts.backward = Name(std::move(node));
  if (std::string op = ForwardOperatorOf(function); !op.empty())
    facts.forward = Name(std::move(op));
  return facts;
}

std::uint32_t BackwardStacks::FunctionOf(const Frame& frame, std::string_view method) {
  if (!frame.function.valid()) return kNone;
  std::string_view name = tables_.strings[frame.function.value];
  // A checkpoint runs its part of the forward pass again, with stacks of its own.
  if (frame.file.valid() &&
      tables_.strings[frame.file.value].ends_with("/torch/utils/checkpoint.py"))
    return kNone;
  if (!name.ends_with(method)) return kNone;
  name.remove_suffix(method.size());
  if (!name.empty() && !name.ends_with('.')) return kNone;
  return Name(std::string(kPythonNode).append(name));
}

// A node's caller comes before it, so that one pass is enough.
void BackwardStacks::ReadStacks() {
  std::vector<FrameFacts> frames;
  std::vector<bool> users;
  // The function of a node may allocate in several of its lines (the generated functions of PyTorch
  // 2.6 do). All of them belong to one run of the node, which is identified by the node's caller
  // and name.
  Runs runs;
  for (const Frame& frame : tables_.frames) {
    frames.push_back(Look(frame));
    users.push_back(frame.python && IsUsers(frame));
  }
  facts_.resize(tables_.stack_parent.size());
  for (std::uint32_t node = 0; node < facts_.size(); ++node) {
    const StackId parent = tables_.stack_parent[node];
    Facts facts = parent.valid() ? facts_[parent.value] : Facts();
    const std::uint32_t id = tables_.stack_frame[node].value;
    if (tables_.frames[id].python) {
      // Callees of Python belong to it, not to a node around it; but all that the functions of an
      // autograd.Function call is theirs.
      Facts inner{.user = users[id] ? node : facts.user,
                  .python = node,
                  .level = facts.level,
                  .makes_nodes = facts.makes_nodes,
                  .applied = facts.applied,
                  .applied_at = facts.applied_at,
                  .own_backward = facts.own_backward,
                  .own_backward_at = facts.own_backward_at};
      if (facts.applies != kNone) {
        inner.applied = FunctionOf(tables_.frames[id], "forward");
        inner.applied_at = facts.applies;
      }
      // PyTorch's own frame, which calls the function, may come first.
      if ((facts.engine || facts.awaits_backward) && facts.user == kNone) {
        inner.own_backward = FunctionOf(tables_.frames[id], "backward");
        inner.own_backward_at = RunOf(&runs, parent, inner.own_backward);
        inner.awaits_backward = inner.own_backward == kNone && inner.user == kNone;
      }
      facts = inner;
    } else {
      const FrameFacts& frame = frames[id];
      const std::uint32_t module = tables_.frames[id].module;
      if (module < is_torch_.size() && is_torch_[module]) facts.asks = node;
      if (frame.engine) {
        facts.engine = facts.makes_nodes = true;
        ++facts.level;
      }
      if (frame.applies) {
        facts.makes_nodes = false;
        facts.applies = node;
      }
      if (frame.backward != kNone && facts.backward == kNone) {
        facts.backward = frame.backward;
        facts.backward_at = RunOf(&runs, parent, frame.backward);
      }
      if (frame.forward != kNone && facts.forward == kNone) {
        facts.forward = frame.forward;
        facts.forward_at = node;
      }
    }
    facts_[node] = facts;
  }
}

void BackwardStacks::Attribute(const std::vector<std::uint32_t>& order, RawEvents* events) {
  if (!HasPyTorch()) return;
  ReadStacks();
  struct Late {
    std::uint32_t row, run;
    BackwardCalls* calls;
    std::uint32_t own = kNone;  // Facts::own_backward_at
  };
  // By device, and by the number of engines that run around the event: the operators of a hook, and
  // recomputed operators of a checkpoint, do not belong to the outer nodes.
  std::map<std::pair<int, std::uint32_t>, BackwardCalls> calls;
  std::vector<Late> late;  // partners are known at the end of the pass
  for (const std::uint32_t row : order) {
    RawEvents::Row& event = events->rows[row];
    const EventKind& kind = events->KindOf(row);
    if (!Asks(kind.op) || !event.stack.valid() || event.stack.value >= facts_.size()) continue;
    const Facts& facts = facts_[event.stack.value];
    const std::uint32_t stack = event.stack.value;
    const bool done = kind.op == Op::kFrameworkOom ||
                      ((kind.op == Op::kAlloc || kind.op == Op::kSampled) &&
                       (kind.layer == Layer::kBlock || kind.layer == Layer::kStreamOrdered));
    const BackwardCalls::Request request{facts.asks != kNone ? facts.asks : stack, done};
    if (facts.engine && facts.user == kNone) {
      const bool known = facts.backward != kNone;
      BackwardCalls& around = calls[{kind.device, facts.level - 1}];
      const std::uint32_t run = around.Backward(known ? names_[facts.backward] : "",
                                                known ? facts.backward_at : request.place, request);
      late.push_back({row, run, &around});
    } else if (facts.own_backward != kNone && facts.level > 0) {
      BackwardCalls& around = calls[{kind.device, facts.level - 1}];
      const std::uint32_t run =
          around.Backward(names_[facts.own_backward], facts.own_backward_at, request);
      late.push_back({row, run, &around, facts.own_backward_at});
    } else if (facts.applied != kNone) {
      calls[{kind.device, facts.level}].Forward(names_[facts.applied], facts.applied_at, request,
                                                facts.applied_at);
    } else if (facts.python != kNone && !facts.engine && facts.forward != kNone &&
               facts.makes_nodes) {
      calls[{kind.device, facts.level}].Forward(names_[facts.forward], facts.forward_at, request,
                                                stack);
    }
  }
  for (auto& [where, around] : calls) around.Finish();
  for (std::size_t i = 0; i < late.size(); ++i) {
    RawEvents::Row& event = events->rows[late[i].row];
    const std::uint32_t stack = event.stack.value;
    const std::uint32_t own = late[i].own;
    BackwardCalls::Partner partner = late[i].calls->PartnerOf(late[i].run);
    // One run of a Python function may allocate several times at one place, which counts as several
    // runs: these have the partner of their neighbours. Without any, such a stack says itself where
    // it is, and stays as it is.
    const auto take = [&](std::size_t near) {
      if (near >= late.size() || late[near].own != own) return false;
      partner = late[near].calls->PartnerOf(late[near].run);
      return partner.stack == kNone;
    };
    if (own != kNone && partner.stack == kNone) {
      for (std::size_t near = 1; near <= kNeighbours && take(i - near); ++near) continue;
      for (std::size_t near = 1; partner.stack == kNone && near <= kNeighbours && take(i + near);
           ++near)
        continue;
    }
    if (own != kNone && partner.stack == kNone) continue;
    event.stack = StackId(Under(stack, Described(facts_[stack], partner)));
  }
}

// The node below which the recorded frames are placed: a generated frame, and the callers in the
// forward code.
std::uint32_t BackwardStacks::Described(const Facts& facts, const BackwardCalls::Partner& partner) {
  const auto place = [this](std::uint32_t of) {
    if (of == kNone) return kNone;
    return facts_[of].user != kNone ? facts_[of].user : facts_[of].python;
  };
  const std::uint32_t name = facts.backward != kNone ? facts.backward : facts.own_backward;
  const std::string node = name == kNone ? "" : names_[name];
  std::uint32_t at = place(partner.stack);
  // The code that sums up and stores gradients runs right after the node that made them.
  if (at == kNone && (node.empty() || node == "AccumulateGrad")) at = place(partner.before);
  if (at != kNone) return Marked("backward of ", at);
  at = CommonCaller(place(partner.before), place(partner.after));
  if (at != kNone) return Marked("backward within ", at);
  return Marked(node.empty() ? "backward" : absl::StrCat("backward: ", node), kNone);
}

// The innermost Python frame of the user that both stacks share; else the innermost shared Python
// frame; kNone if they share none.
std::uint32_t BackwardStacks::CommonCaller(std::uint32_t a, std::uint32_t b) const {
  if (a == kNone || b == kNone) return kNone;
  while (a != b) {  // a caller's number is the smaller one
    std::uint32_t& later = a > b ? a : b;
    const StackId parent = tables_.stack_parent[later];
    if (!parent.valid()) return kNone;
    later = parent.value;
  }
  return facts_[a].user != kNone ? facts_[a].user : facts_[a].python;
}

// A node for a frame named `words` at the Python frame at `user`, above its callers.
std::uint32_t BackwardStacks::Marked(const std::string& words, std::uint32_t user) {
  const auto [at, fresh] = marked_.try_emplace({words, user}, kNone);
  if (!fresh) return at->second;
  Frame frame{.python = true};
  std::uint32_t parent = kNone;
  if (user == kNone) {
    frame.function = Text(words);
  } else {
    const Frame& forward = tables_.frames[tables_.stack_frame[user].value];
    frame.file = forward.file;
    frame.line = forward.line;
    frame.function = Text(absl::StrCat(
        words, forward.function.valid() ? tables_.strings[forward.function.value] : "?"));
    parent = tables_.stack_parent[user].value;
  }
  tables_.frames.push_back(frame);
  const std::uint32_t node = Child(parent, static_cast<std::uint32_t>(tables_.frames.size()) - 1);
  return marked_[{words, user}] = node;
}

// The frames of `stack` as called from `outer`.
std::uint32_t BackwardStacks::Under(std::uint32_t stack, std::uint32_t outer) {
  const auto known = under_.find({stack, outer});
  if (known != under_.end()) return known->second;
  std::vector<std::uint32_t> path;
  for (StackId node(stack); node.valid(); node = tables_.stack_parent[node.value])
    path.push_back(tables_.stack_frame[node.value].value);
  std::uint32_t at = outer;
  for (std::size_t i = path.size(); i-- > 0;) at = Child(at, path[i]);
  return under_[{stack, outer}] = at;
}

std::uint32_t BackwardStacks::Child(std::uint32_t parent, std::uint32_t frame) {
  const auto [at, fresh] = children_.try_emplace(
      {parent, frame}, static_cast<std::uint32_t>(tables_.stack_parent.size()));
  if (fresh) {
    tables_.stack_parent.push_back(parent == kNone ? StackId() : StackId(parent));
    tables_.stack_frame.push_back(FrameId(frame));
  }
  return at->second;
}

}  // namespace memprof::analysis
