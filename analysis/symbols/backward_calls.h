// Which operator of a forward pass a node of its backward pass belongs to. Knows nothing of
// sessions.
//
// PyTorch's engine runs the nodes of a graph that are ready in descending order of their sequence
// numbers, and a node is only ready when all later ones that lead to it have run: so a backward
// pass goes through the operators of its forward pass from the last to the first. Operators and
// nodes are seen only where they allocate, and operators whose results need no gradient have no
// node. So both are sequences with gaps. Of all ways to pair them in order the one with the most
// pairs is taken: where an operator that works in place is not seen, but its node is, the nearest
// one of its kind may be far back, and all nodes between would lose theirs.
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
  // 0.
  std::uint32_t Backward(const std::string& node, std::uint32_t call, Request request);

  // What a run belongs to.
  struct Partner {
    std::uint32_t stack = kNone;  // of the forward operator; kNone = not known
    // Not known, but it ran between the nodes of these two, or one of them is kNone.
    std::uint32_t before = kNone, after = kNone;
  };
  // After Finish, which ends the pass that is under way.
  Partner PartnerOf(std::uint32_t run) const { return runs_[run]; }
  void Finish() { EndPass(); }

 private:
  // The call that is under way. What tells a further allocation of it from another call at the same
  // place is that the other begins anew with what the first had already.
  struct Current {
    std::uint32_t call = kNone, index = kNone;
    absl::flat_hash_set<std::uint32_t> places;
    bool Continues(std::uint32_t at, Request request);
  };
  struct Call {
    std::uint32_t op, stack;
    bool taken = false;  // it has a partner: a graph is gone through once, most of the time
  };
  // Nodes of one name: their runs in the pass that is under way, and what may make them.
  using Kind = std::uint32_t;
  // Calls between the begins of two passes, by number.
  struct Stretch {
    std::uint64_t begin, end;
  };
  std::uint32_t OperatorId(const std::string& op);
  Kind KindId(const std::string& node);
  void Join(std::uint32_t op, Kind kind);
  void EndPass();
  // Runs of a pass from one to before another, and their calls: kNoCall for those without.
  struct Part {
    std::size_t begin, end;
  };
  struct Alignment {
    std::vector<std::uint64_t> calls;
    std::size_t found = 0;
  };
  Alignment BestOf(Part part, bool taken_too) const;
  Alignment AlignWith(Stretch stretch, Part part, bool taken_too) const;
  Alignment Find(Part part) const;
  void TellNeighbours();

  std::vector<std::string> operators_, nodes_;
  absl::flat_hash_map<std::string, std::uint32_t> operator_ids_, node_ids_;
  std::vector<std::vector<Kind>> kinds_of_operator_;
  std::vector<bool> is_made_;  // by kind: an operator is known that makes it
  // Forward calls are numbered from 0; those before first_ are forgotten.
  std::uint64_t first_ = 0;
  std::deque<Call> calls_;
  Current forward_, backward_;
  std::deque<Stretch> stretches_;  // the last one is of calls until the pass that is under way
  std::vector<Partner> runs_;
  std::size_t pass_ = 0;          // its first run
  std::vector<Kind> pass_kinds_;  // of its runs
};

}  // namespace memprof::analysis
