// Matches the nodes of a backward pass with the operators of its forward pass. Independent of
// sessions.
//
// PyTorch's engine runs the ready nodes of a graph in descending order of their sequence numbers,
// and a node is ready only when all later ones that lead to it have run. So a backward pass visits
// the operators of its forward pass from the last to the first. Operators and nodes are only seen
// when they allocate, and operators whose results need no gradient have no node. So both are
// sequences with gaps. Of all ways to pair them in order, the one with the most pairs is used.
// (Pairing each with the nearest of its kind would fail: an in-place operator is not seen, but its
// node is; its match could be far back, and all nodes in between would lose theirs.)
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
// "add_Tensor" of at::_ops::add_Tensor::redispatch, which an operator calls after autograd has made
// its node; "" for other functions.
std::string ForwardOperatorOf(std::string_view function);
// The operator that applies an autograd.Function, and its node, are both named "python NAME".
inline constexpr std::string_view kPythonNode = "python ";
// Whether the operator "add_Tensor" makes nodes "AddBackward0".
bool MakesNode(std::string_view op, std::string_view node);

// The operators and nodes of one device, in order of time. Takes bounded memory.
class BackwardCalls {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  // Identifies an allocation within a call. `place`: its stack without the allocator's frames, so
  // that a segment, a failure and the block of one request share it. `done`: this is the last event
  // of the request; the next one at this place is another allocation.
  struct Request {
    std::uint32_t place = kNone;
    bool done = true;
  };
  // An allocation in a forward pass: in operator `op`, called at `call` (a place on the stack that
  // all allocations of one call share), with the whole `stack`.
  void Forward(const std::string& op, std::uint32_t call, Request request, std::uint32_t stack);
  // An allocation in a backward pass: in node `node`, run at `call`. Returns the number of the
  // node's run, counted from 0.
  std::uint32_t Backward(const std::string& node, std::uint32_t call, Request request);

  // The forward operator of a run.
  struct Partner {
    std::uint32_t stack = kNone;  // of the forward operator; kNone = not known
    // If it is not known: the run was between the nodes of these two, or one of them is kNone.
    std::uint32_t before = kNone, after = kNone;
  };
  // After Finish, which ends the current pass.
  Partner PartnerOf(std::uint32_t run) const { return runs_[run]; }
  void Finish() { EndPass(); }

 private:
  // The current call. A further allocation of it differs from another call at the same place in
  // that the other call repeats the first allocations.
  struct Current {
    std::uint32_t call = kNone, index = kNone;
    absl::flat_hash_set<std::uint32_t> places;
    bool Continues(std::uint32_t at, Request request);
  };
  struct Call {
    std::uint32_t op, stack;
    bool taken = false;  // it has a partner: mostly, a graph is visited once
  };
  // Nodes of one name: their runs in the current pass, and the operators that may make them.
  using Kind = std::uint32_t;
  // Calls between the begins of two passes, by number.
  struct Stretch {
    std::uint64_t begin, end;
  };
  std::uint32_t OperatorId(const std::string& op);
  Kind KindId(const std::string& node);
  void Join(std::uint32_t op, Kind kind);
  void EndPass();
  // The runs [from, before) of a pass, and their calls: kNoCall for those without.
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
  void SetNeighbours();

  std::vector<std::string> operators_, nodes_;
  absl::flat_hash_map<std::string, std::uint32_t> operator_ids_, node_ids_;
  std::vector<std::vector<Kind>> kinds_of_operator_;
  std::vector<bool> is_made_;  // by kind: an operator that makes it is known
  // Forward calls are numbered from 0; those before first_ are dropped.
  std::uint64_t first_ = 0;
  std::deque<Call> calls_;
  Current forward_, backward_;
  std::deque<Stretch> stretches_;  // the last one has the calls until the current pass
  std::vector<Partner> runs_;
  std::size_t pass_ = 0;          // its first run
  std::vector<Kind> pass_kinds_;  // of its runs
};

}  // namespace memprof::analysis
