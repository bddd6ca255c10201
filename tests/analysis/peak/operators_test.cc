// Operators recognised by the functions of a stack.
#include "analysis/peak/operators.h"

#include <gtest/gtest.h>

#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

SourceFrame Native(std::string function) {
  return {.function = std::move(function), .module = "libtorch_cpu.so", .symbolised = true};
}
SourceFrame Python(std::string function) {
  return {.function = std::move(function), .module = "python", .python = true, .symbolised = true};
}

TEST(OperatorOf, TheOutermostThatPythonCalled) {
  EXPECT_EQ(OperatorOf({Native("c10::cuda::malloc(unsigned long)"),
                        Native("at::_ops::empty_memory_format::call(c10::ArrayRef<long>)"),
                        Native("at::_ops::addmm::redispatch(c10::DispatchKeySet, at::Tensor)"),
                        Native("at::_ops::addmm::call(at::Tensor const&, at::Tensor const&)"),
                        Native("at::_ops::linear::call(at::Tensor const&)"), Python("forward")}),
            "aten::linear");
}

TEST(OperatorOf, NotWhatCalledPython) {
  // A function of the user within another operator: a hook, a custom function.
  EXPECT_EQ(OperatorOf({Native("at::_ops::relu::call(at::Tensor const&)"), Python("hook"),
                        Native("at::_ops::linear::call(at::Tensor const&)"), Python("forward")}),
            "aten::relu");
}

TEST(OperatorOf, TheNodeOfABackwardPass) {
  EXPECT_EQ(
      OperatorOf({Native("at::_ops::mm::redispatch(c10::DispatchKeySet)"),
                  Native("torch::autograd::generated::MmBackward0::apply(std::vector<int>&&)"),
                  Native("torch::autograd::Engine::evaluate_function(int)"),
                  Python("backward of Block.forward")}),
      "MmBackward0");
}

TEST(OperatorOf, EmptyWhereNoneIsKnown) {
  EXPECT_EQ(OperatorOf({}), "");
  EXPECT_EQ(OperatorOf({Native("cudaMalloc"), Native("at::_ops::mm"), Native("at::mm(int)"),
                        Native("my::at::_ops::mm::call(int)"), Python("main")}),
            "");
}

TEST(Operators, NumbersOfStacks) {
  LogBuilder log;
  for (const char* site : {"main (a.py:1)", "main (a.py:2)"})
    log.Alloc(Layer::kLinear, 0x1000, 64, {.stack = log.Stack({site})});
  const auto session = LoadLog(log);
  Symbols symbols(session);
  Operators operators(*session, symbols);
  for (std::uint32_t stack = 0; stack < session->stack_count(); ++stack)
    EXPECT_EQ(operators.Of(StackId(stack)), Operators::kNone);
  EXPECT_EQ(operators.Of(StackId()), Operators::kNone);
  EXPECT_EQ(operators.Of(StackId(1'000'000)), Operators::kNone);
  EXPECT_EQ(operators.name(Operators::kNone), "");
}

}  // namespace
}  // namespace memprof::analysis
