#include <gtest/gtest.h>

#include "analysis/symbols/backward_calls.h"

namespace memprof::analysis {
namespace {

TEST(BackwardNamesTest, Nodes) {
  EXPECT_EQ(BackwardNodeOf("torch::autograd::generated::AddmmBackward0::apply"), "AddmmBackward0");
  EXPECT_EQ(BackwardNodeOf("torch::autograd::AccumulateGrad::apply"), "AccumulateGrad");
  EXPECT_EQ(BackwardNodeOf("torch::autograd::CopySlices::apply"), "CopySlices");
  for (const char* other :
       {"torch::autograd::generated::AddmmBackward0_apply_functional",
        "torch::autograd::CppNode<mine::NetworkLayer>::apply", "torch::autograd::Node::operator()",
        "mine::generated::AddmmBackward0::apply", "torch::autograd::deep::er::apply", ""})
    EXPECT_EQ(BackwardNodeOf(other), "") << other;
}

TEST(BackwardNamesTest, Operators) {
  EXPECT_EQ(ForwardOperatorOf("at::_ops::add_Tensor::redispatch"), "add_Tensor");
  for (const char* other : {"at::_ops::add_Tensor::call", "at::native::add", "add::redispatch", ""})
    EXPECT_EQ(ForwardOperatorOf(other), "") << other;
}

TEST(BackwardNamesTest, WhichOperatorMakesWhichNode) {
  const std::pair<const char*, const char*> kMade[] = {
      {"addmm", "AddmmBackward0"},
      {"add_Tensor", "AddBackward0"},
      {"sum_dim_IntList", "SumBackward1"},
      {"_log_softmax", "LogSoftmaxBackward0"},
      {"nll_loss_forward", "NllLossBackward0"},
      {"native_layer_norm", "NativeLayerNormBackward0"},
      {"_scaled_dot_product_flash_attention", "ScaledDotProductFlashAttentionBackward0"},
      {"_to_copy", "ToCopyBackward0"},
      {"_cudnn_rnn", "CudnnRnnBackward0"},
      {"cudnn_batch_norm", "CudnnBatchNormBackward0"},
      {"gelu", "GeluBackward0"}};
  for (const auto& [op, node] : kMade) {
    for (const auto& [other, its_node] : kMade)
      EXPECT_EQ(MakesNode(op, its_node), std::string_view(op) == other) << op << " " << its_node;
  }
  EXPECT_FALSE(MakesNode("addmm", "AccumulateGrad"));
  EXPECT_FALSE(MakesNode("addmm", ""));
  EXPECT_FALSE(MakesNode("addmm", "Backward0"));
  EXPECT_FALSE(MakesNode("", "AddmmBackward0"));
  EXPECT_FALSE(MakesNode("_", "AddmmBackward0"));
}

}  // namespace
}  // namespace memprof::analysis
