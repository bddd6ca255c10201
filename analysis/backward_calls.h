// Which operator of a forward pass a node of its backward pass belongs to. Internal to analysis/;
// knows nothing of sessions.
//
// PyTorch's engine runs the nodes of a graph that are ready in descending order of their sequence
// numbers, and a node is only ready when all later ones that lead to it have run: so a backward
// pass goes through the operators of its forward pass from the last to the first. Operators and
// nodes are seen only where they allocate, and operators whose results need no gradient have no
// node. So both are sequences with gaps: the partner of a node is the nearest operator of its
// class before the partner of the node before.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace memprof::analysis {

// "AddmmBackward0" of the function torch::autograd::generated::AddmmBackward0::apply; also nodes
// that are not generated: "AccumulateGrad", "CopySlices". "" for other functions.
std::string BackwardNodeOf(std::string_view function);
// "add_Tensor" of at::_ops::add_Tensor::redispatch, which an operator calls when autograd has made
// its node; "" for other functions.
std::string ForwardOperatorOf(std::string_view function);
// Whether the operator "add_Tensor" makes nodes "AddBackward0".
bool MakesNode(std::string_view op, std::string_view node);

// The operators and nodes of one device, in order of time. Takes bounded memory.
class BackwardCalls {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  // What happens on the way to an allocation, at `place`: a stack without the allocator's frames,
  // so that a segment that had to be had first, a refusal and the block share it. `done` is the
  // last of these: then the next at this place is another allocation.
  struct Request {
    std::uint32_t place = kNone;
    bool done = true;
  };
  // In a forward pass, of operator `op`, called at `call` (a place on the stack that all
  // allocations of one call share), by the whole `stack`.
  void Forward(const std::string& op, std::uint32_t call, Request request, std::uint32_t stack);
  // In a backward pass, by node `node`, run at `call`. The number of the node's run, counted from
  // 0: its partner may be known only later.
  std::uint32_t Backward(const std::string& node, std::uint32_t call, Request request);

  // What a run belongs to.
  struct Partner {
    std::uint32_t stack = kNone;  // of the forward operator; kNone = not known
    // Not known, but it ran between the nodes of these two, or one of them is kNone.
    std::uint32_t before = kNone, after = kNone;
  };
  Partner PartnerOf(std::uint32_t run) const { return runs_[run]; }

 private:
  // The call that is under way. What tells a further allocation of it from another call at the same
  // place is that the other begins anew with what the first had already.
  struct Current {
    std::uint32_t call = kNone, index = kNone;
    absl::flat_hash_set<std::uint32_t> places;
    bool Continues(std::uint32_t at, Request request);
  };
  std::uint32_t OperatorId(const std::string& op);
  const std::vector<std::uint32_t>& OperatorsOf(const std::string& node);
  std::uint64_t FindPartner(const std::string& node);
  void BeginPass();
  void Forget();

  std::vector<std::string> operators_;
  absl::flat_hash_map<std::string, std::uint32_t> operator_ids_;
  absl::flat_hash_map<std::string, std::vector<std::uint32_t>> operators_of_node_;
  // Forward calls are numbered from 0; those before first_ are forgotten.
  std::uint64_t first_ = 0;
  std::deque<std::uint32_t> stack_of_call_;
  std::vector<std::deque<std::uint64_t>> calls_of_operator_;  // ascending
  Current forward_, backward_;
  // Partners lie before this call; how many calls there were when the pass began.
  std::uint64_t limit_ = 0, pass_begin_ = 0;
  std::deque<std::uint64_t> passes_;  // calls at the begin of the last few
  std::vector<Partner> runs_;
  std::uint32_t last_partner_ = kNone;  // stack of the last partner in this pass
  std::vector<std::uint32_t> waiting_;  // runs since then that have none
};

}  // namespace memprof::analysis
