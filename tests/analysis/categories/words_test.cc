#include "analysis/categories/words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "analysis/categories/categories.h"

namespace memprof::analysis {
namespace {

TEST(CategoryWordsTest, NamesOfTensors) {
  const std::pair<const char*, Category> kNames[] = {
      {"wte.weight", Category::kParameters},
      {"blocks.3.attn.qkv.weight", Category::kParameters},
      {"blocks.0.ln_1.bias", Category::kParameters},
      {"blocks.0.mlp.up.weight.bf16", Category::kParameters},
      {"bn.running_mean", Category::kParameters},
      {"lstm.weight_hh_l0", Category::kParameters},
      {"wte.weight.grad", Category::kGradients},
      {"blocks.0.ln_1.bias.grad", Category::kGradients},
      {"blocks.1.attn.qkv.weight.exp_avg", Category::kOptimizerState},
      {"blocks.1.attn.qkv.weight.exp_avg_sq", Category::kOptimizerState},
      {"fc.weight.momentum_buffer", Category::kOptimizerState},
      {"embedding.out", Category::kActivations},
      {"blocks.0.ln_1.mean", Category::kActivations},
      {"blocks.0.attn.probs", Category::kActivations},
      {"blocks.0.attn.scores", Category::kActivations},
      {"blocks.0.middle", Category::kActivations},
      {"loss.rows", Category::kActivations},
      {"loss", Category::kActivations},
      {"eval.loss", Category::kActivations},
      {"eval.logits", Category::kActivations},
      {"blocks.0.attn.probs.grad", Category::kTemporaries},
      {"blocks.0.in.grad", Category::kTemporaries},
      {"logits.grad", Category::kTemporaries},
      {"optimizer.norm.partial", Category::kTemporaries},
      {"lm_head.workspace", Category::kWorkspaces},
      {"all_reduce.buffer", Category::kCommunication},
      {"batch.tokens", Category::kInputs},
      {"batch.targets", Category::kInputs},
      {"x", Category::kUnknown},
      {"", Category::kUnknown},
      {"weights_of_all", Category::kUnknown},
  };
  for (const auto& [name, category] : kNames)
    EXPECT_EQ(CategoryOfTensorName(name), category)
        << name << " is " << CategoryName(CategoryOfTensorName(name));
}

TEST(CategoryWordsTest, Frames) {
  struct Case {
    const char* function;
    const char* file;
    const char* module;
    bool python;
    Phase phase;
  };
  const Case kCases[] = {
      {"memprof::demo::Linear::Forward(Tensor const&)", "linear.cc", "train", false,
       Phase::kForward},
      {"Linear::Backward(Forward const&)", "linear.cc", "train", false, Phase::kBackward},
      {"(anonymous namespace)::Backward(int)", "x.cc", "train", false, Phase::kBackward},
      {"torch::autograd::Engine::thread_main(int)", "", "libtorch_cpu.so", false, Phase::kBackward},
      {"Optimizer::Step(float)", "train.cc", "train", false, Phase::kOptimizer},
      {"step", "/usr/lib/python3/torch/optim/adam.py", "python", true, Phase::kOptimizer},
      {"step", "/home/optimist/train.py", "python", true, Phase::kNone},
      {"Parameter::PrepareGrad()", "p.cc", "train", false, Phase::kGradient},
      {"torch::autograd::AccumulateGrad::apply()", "", "libtorch_cpu.so", false, Phase::kGradient},
      {"Parameter::As(DType)", "p.cc", "train", false, Phase::kParameter},
      {"ncclCommInitRank", "", "libnccl.so.2", false, Phase::kCommunication},
      {"AverageGradients(int)", "p.cc", "train", false, Phase::kCommunication},
      {"cublasCreate_v2", "", "libcublas.so.12", false, Phase::kWorkspace},
      {"UploadBatch(Device&)", "loader.cc", "train", false, Phase::kInput},
      {"_next_data", "/x/torch/utils/data/dataloader.py", "python", true, Phase::kInput},
      {"main", "main.cc", "train", false, Phase::kNone},
      {"at::native::_cudnn_rnn_flatten_weight", "", "libtorch_cuda.so", false, Phase::kParameter},
      {"at::native::_cudnn_rnn", "", "libtorch_cuda.so", false, Phase::kNone},
      {"at::native::cudnn_convolution", "", "libtorch_cuda.so", false, Phase::kNone},
      {"c10::impl::wrap_kernel_functor_unboxed_<&wrapper_CUDA__cudnn_batch_norm>::call", "",
       "libtorch_cuda.so", false, Phase::kNone},
      {"torch::autograd::generated::CudnnBatchNormBackward0::apply", "", "libtorch_cpu.so", false,
       Phase::kBackward},
      {"at::native::(anonymous namespace)::Workspace::Workspace(unsigned long)", "",
       "libtorch_cuda.so", false, Phase::kWorkspace},
      {"CudnnScratch::Grow()", "scratch.cc", "train", false, Phase::kWorkspace},
      {"CudnnRnnBackward0::apply", "", "libtorch_cpu.so", false, Phase::kBackward},
      {"Module._apply", "/x/torch/nn/modules/module.py", "python", true, Phase::kParameter},
      {"Linear.__init__", "/x/torch/nn/modules/linear.py", "python", true, Phase::kParameter},
      {"Linear.forward", "/x/torch/nn/modules/linear.py", "python", true, Phase::kForward},
      {"Parameter.__deepcopy__", "/x/torch/nn/parameter.py", "python", true, Phase::kParameter},
      {"FSDPParam._init_sharded_param", "/x/torch/distributed/fsdp/_fully_shard/_fsdp_param.py",
       "python", true, Phase::kParameter},
      {"FlatParamHandle.shard", "/x/torch/distributed/fsdp/_flat_param.py", "python", true,
       Phase::kParameter},
      {"DefaultAllocMixin.allocate", "/x/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py",
       "python", true, Phase::kCommunication},
      {"_reduce_grad", "/x/torch/distributed/fsdp/_runtime_utils.py", "python", true,
       Phase::kCommunication},
      {"AveragedModel.__init__", "/x/torch/optim/swa_utils.py", "python", true, Phase::kNone},
  };
  for (const Case& c : kCases) {
    SourceFrame frame;
    frame.function = c.function;
    frame.file = c.file;
    frame.module = c.module;
    frame.python = c.python;
    frame.symbolised = true;
    EXPECT_EQ(PhaseOfFrame(frame), c.phase) << c.function;
    frame.symbolised = false;
    EXPECT_EQ(PhaseOfFrame(frame), Phase::kNone) << c.function;
  }
}

TEST(WordsTest, ComparingKernelsIsAWorkspaceWhateverItRuns) {
  SourceFrame frame{.function = "AlgorithmSelectorCache.benchmark_example_value",
                    .file = "/v/site-packages/torch/_inductor/select_algorithm.py",
                    .python = true,
                    .symbolised = true};
  EXPECT_EQ(PhaseOfFrame(frame), Phase::kWorkspace);
  frame.file = "/home/me/select_algorithm.py";
  EXPECT_EQ(PhaseOfFrame(frame), Phase::kNone);
}

TEST(CategoryWordsTest, Ranges) {
  EXPECT_EQ(PhaseOfRange("forward"), Phase::kForward);
  EXPECT_EQ(PhaseOfRange("evaluation"), Phase::kForward);
  EXPECT_EQ(PhaseOfRange("Backward pass"), Phase::kBackward);
  EXPECT_EQ(PhaseOfRange("Optimizer.step#Adam.step"), Phase::kOptimizer);
  EXPECT_EQ(PhaseOfRange("ncclAllReduce"), Phase::kCommunication);
  EXPECT_EQ(PhaseOfRange("all-reduce"), Phase::kCommunication);
  EXPECT_EQ(PhaseOfRange("DataLoader.next"), Phase::kInput);
  EXPECT_EQ(PhaseOfRange("step 3"), Phase::kNone);
  // Names of modules in any spelling.
  EXPECT_EQ(PhaseOfRange("optim_head.backward_lstm (forward)"), Phase::kForward);
  EXPECT_EQ(PhaseOfRange("forward_net (backward)"), Phase::kBackward);
  EXPECT_EQ(PhaseOfRange("blocks.3 (recomputed)"), Phase::kForward);
  EXPECT_EQ(PhaseOfRange("Lion.step (optimizer)"), Phase::kOptimizer);
}

TEST(CategoryWordsTest, EveryCategoryHasItsOwnNames) {
  std::vector<std::string_view> names, keys;
  for (std::size_t c = 0; c < kCategoryCount; ++c) {
    names.push_back(CategoryName(static_cast<Category>(c)));
    keys.push_back(CategoryKey(static_cast<Category>(c)));
    EXPECT_EQ(keys.back().find(' '), std::string_view::npos);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
}

}  // namespace
}  // namespace memprof::analysis
