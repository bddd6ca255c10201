// Which of PyTorch's operators allocated memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// Of a resolved stack, innermost first: "aten::mm" for the outermost operator that Python called,
// or the node of autograd that ran ("MmBackward0"); "" if the stack has neither. Found from the
// names of PyTorch's own functions, at::_ops::mm::call and
// torch::autograd::generated::MmBackward0::apply: nothing extra has to be recorded.
std::string OperatorOf(const std::vector<SourceFrame>& stack);

// Operators of a session's stacks, cached. Not thread-safe; session and symbols outlive it.
class Operators {
 public:
  static constexpr std::uint32_t kNone = 0;

  Operators(const Session& session, Symbols& symbols);
  // The operator of a stack as a number; kNone for none.
  std::uint32_t Of(StackId stack);
  // By its number; "" for kNone.
  const std::string& name(std::uint32_t number) const { return names_[number]; }

 private:
  Symbols& symbols_;
  std::vector<std::uint32_t> by_stack_;
  std::vector<std::string> names_{""};
};

}  // namespace memprof::analysis
