// Adds Python frames to allocations of PyTorch's autograd threads, which run no Python: those of
// the forward code that caused them, as far as they can be found.
//
// The new stack: the native frames as recorded; a frame "backward of FUNCTION" at the line of the
// forward operator; that line's callers. If only the neighbouring nodes are known, it is "backward
// within FUNCTION", with the callers that both have in common; else "backward: NODE", or
// "backward". The method is in docs/python-stacks.md.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/load/internal/columns.h"
#include "analysis/load/internal/tables.h"
#include "analysis/symbols/backward_calls.h"

namespace memprof::analysis {

class BackwardStacks {
 public:
  // The function of a native frame of `module`, "" if unknown. Called once for each frame of
  // PyTorch's CPU library, which contains operators and the engine, and of its Python library.
  using FunctionName = std::function<std::string(std::uint32_t module, std::uint64_t address)>;

  BackwardStacks(SessionTables* tables, FunctionName name);

  // Changes the stacks of allocations, successful or failed, in `events`, whose time order is
  // `order`; adds the new stacks to the tables. O(events + nodes of the stacks); returns at once if
  // no module is PyTorch's.
  void Attribute(const std::vector<std::uint32_t>& order, RawEvents* events);

 private:
  static constexpr std::uint32_t kNone = EventId::kNone;
  // Facts about a stack, collected from its outermost frame inward.
  struct Facts {
    std::uint32_t user = kNone;    // node of the innermost Python frame of the user
    std::uint32_t python = kNone;  // node of the innermost Python frame
    std::uint32_t asks = kNone;    // node of PyTorch's innermost frame outside of its allocators
    bool engine = false;           // autograd's engine runs in it
    // the number of running engines: Python that a node calls is at 1
    std::uint32_t level = 0;
    bool makes_nodes = true;  // false within the forward function of an autograd.Function
    // Of an autograd.Function whose forward or backward function runs, the name; where it was
    // applied (a node of the stack), or its run.
    std::uint32_t applies =
        kNone;  // applies one, whose Python is not reached yet: a node of the stack
    bool awaits_backward = false;  // the same of an engine's node in Python
    std::uint32_t applied = kNone, applied_at = kNone;
    std::uint32_t own_backward = kNone, own_backward_at = kNone;
    // The running node: its name, and the frame of its run.
    std::uint32_t backward = kNone, backward_at = kNone;
    // The outermost operator: its name, and its node of the stack.
    std::uint32_t forward = kNone, forward_at = kNone;
  };
  struct FrameFacts {
    bool engine = false;
    bool applies = false;                             // calls the forward of a Function
    std::uint32_t backward = kNone, forward = kNone;  // names
  };

  bool HasPyTorch();
  FrameFacts Look(const Frame& frame);
  // By the node around it, and by name: numbers of runs, beyond those of nodes of stacks.
  using Runs = absl::flat_hash_map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>;
  std::uint32_t RunOf(Runs* runs, StackId parent, std::uint32_t name) const;
  void ReadStacks();
  // "python Fused" of the function "Fused.backward" for "backward"; kNone for others.
  std::uint32_t FunctionOf(const Frame& frame, std::string_view method);
  bool IsUsers(const Frame& frame) const;
  std::uint32_t Name(std::string name);
  StringId Text(const std::string& text);

  std::uint32_t Described(const Facts& facts, const BackwardCalls::Partner& partner);
  std::uint32_t CommonCaller(std::uint32_t a, std::uint32_t b) const;
  std::uint32_t Marked(const std::string& words, std::uint32_t user);
  std::uint32_t Under(std::uint32_t stack, std::uint32_t outer);
  std::uint32_t Child(std::uint32_t parent, std::uint32_t frame);

  SessionTables& tables_;
  const FunctionName name_;
  // By module: the one with operators and the engine; the one that Python calls; any of PyTorch's
  // outside of its allocators.
  std::vector<bool> is_core_, is_python_, is_torch_;
  std::vector<Facts> facts_;  // by node
  std::vector<std::string> names_;
  absl::flat_hash_map<std::string, std::uint32_t> name_ids_, text_ids_;
  absl::flat_hash_map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> children_, under_;
  absl::flat_hash_map<std::pair<std::string, std::uint32_t>, std::uint32_t> marked_;
};

}  // namespace memprof::analysis
