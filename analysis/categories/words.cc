// Words of frameworks and of users.
#include "analysis/categories/words.h"

#include <array>
#include <cctype>
#include <initializer_list>
#include <string>

#include "analysis/base/text.h"
#include "analysis/symbols/libraries.h"
#include "analysis/symbols/module_paths.h"

namespace memprof::analysis {
namespace {

bool BeginsWithAny(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words)
    if (text.starts_with(word)) return true;
  return false;
}

// Cuts `ending` off `text`.
bool CutEnding(std::string_view* text, std::string_view ending) {
  if (!text->ends_with(ending)) return false;
  text->remove_suffix(ending.size());
  return true;
}

// The last part of a dotted name.
std::string_view LastPart(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

// "Step" of "memprof::demo::Optimizer::Step(float, float)": without scopes and arguments.
std::string_view WithoutArguments(std::string_view function) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::size_t from = 0;
  while (true) {
    const std::size_t open = function.find('(', from);
    if (open == std::string_view::npos) return function;
    if (function.substr(open, kAnonymous.size()) == kAnonymous) {
      from = open + kAnonymous.size();
      continue;
    }
    return function.substr(0, open);
  }
}

// Whether the function creates or replaces the weights of PyTorch's modules, or a rank's part of
// them (FSDP2's and FSDP1's shards, tensor parallelism). Both in lower case.
bool IsModuleState(std::string_view file, std::string_view function) {
  if (ContainsAny(file, {"/torch/nn/parameter.py"})) return true;
  if (ContainsAny(file, {"/torch/distributed/"}))
    return ContainsAny(function, {"_init_sharded_param", "_init_flat_param", "flatten_tensors",
                                  "flatparamhandle.shard", "flatparamhandle._get_shard",
                                  "distribute_tensor", "distribute_module"});
  if (!ContainsAny(file, {"/nn/modules/"})) return false;
  return ContainsAny(function, {"__init__", "._apply", ".convert", "reset_parameters", "register_",
                                "_load_from_state_dict", "_flat_weights", "flatten_parameters"});
}

}  // namespace

bool IsParameterName(std::string_view name) {
  const std::string lower = Lower(name);
  const std::string_view last = LastPart(lower);
  for (const std::string_view part :
       {"weight", "bias", "gamma", "beta", "kernel", "running_mean", "running_var", "lora_a",
        "lora_b", "pos_embed", "cls_token", "weight_ih", "weight_hh"})
    if (last == part) return true;
  return last.starts_with("weight_") || last.starts_with("bias_") || ContainsAny(last, {"param"});
}

Category CategoryOfTensorName(std::string_view name) {
  const std::string lower = Lower(name);
  std::string_view stem = lower;
  if (ContainsAny(lower, {"exp_avg", "momentum", "master_", ".master", "optimizer_state",
                          "optim.state", "square_avg", "acc_delta", "velocity"}))
    return Category::kOptimizerState;
  if (ContainsAny(lower, {"all_reduce", "allreduce", "all_gather", "allgather", "reduce_scatter",
                          "nccl", "comm_buffer", "grad_bucket"}))
    return Category::kCommunication;
  if (ContainsAny(lower, {"workspace", "scratch"})) return Category::kWorkspaces;
  if (BeginsWithAny(lower, {"optim"})) return Category::kTemporaries;
  if (CutEnding(&stem, ".grad") || CutEnding(&stem, "_grad"))
    return IsParameterName(stem) ? Category::kGradients : Category::kTemporaries;
  for (const std::string_view ending : {".bf16", ".fp16", ".half", ".fp8", ".bfloat16", ".float16"})
    if (CutEnding(&stem, ending)) break;
  if (IsParameterName(stem)) return Category::kParameters;
  if (BeginsWithAny(lower, {"batch", "input", "target", "label", "tokens", "images"}))
    return Category::kInputs;
  const std::string_view last = LastPart(stem);
  for (const std::string_view part :
       {"out", "output", "act", "mean", "rstd", "rows", "probs", "scores", "mixed", "middle",
        "hidden", "logits", "loss", "attn", "qkv", "activation", "activations"})
    if (last == part) return Category::kActivations;
  return Category::kUnknown;
}

Phase PhaseOfRange(std::string_view name) {
  // A module may be called anything, also "optim_head".
  if (const auto module = ParseModuleRange(name)) {
    switch (module->pass) {
      case ModulePass::kForward:
      case ModulePass::kRecomputed:
        return Phase::kForward;
      case ModulePass::kBackward:
        return Phase::kBackward;
      case ModulePass::kOptimizer:
        return Phase::kOptimizer;
    }
  }
  const std::string lower = Lower(name);
  if (ContainsAny(lower, {"all-reduce", "all_reduce", "allreduce", "nccl", "all_gather",
                          "allgather", "reduce_scatter"}))
    return Phase::kCommunication;
  if (ContainsAny(lower, {"optim", "adam"})) return Phase::kOptimizer;
  if (ContainsAny(lower, {"backward", "autograd"})) return Phase::kBackward;
  if (ContainsAny(lower, {"forward", "evaluat", "inference", "validation"})) return Phase::kForward;
  if (ContainsAny(lower, {"dataload", "data_load", "h2d", "prefetch"})) return Phase::kInput;
  return Phase::kNone;
}

Phase PhaseOfFrame(const SourceFrame& frame) {
  if (!frame.symbolised) return Phase::kNone;
  const std::string function = Lower(WithoutArguments(frame.function));
  const std::string file =
      Lower(frame.python ? std::string_view(frame.file) : BaseName(frame.file));
  const std::string module = Lower(frame.module);
  if (ComparesKernels({frame.function, frame.file, {}, frame.python})) return Phase::kWorkspace;
  if (ContainsAny(function, {"flatten_weight"}) || (frame.python && IsModuleState(file, function)))
    return Phase::kParameter;
  if (ContainsAny(module, {"libnccl"}) || ContainsAny(file, {"/_fsdp_collectives.py"}) ||
      ContainsAny(function, {"nccl", "allreduce", "all_reduce", "allgather", "all_gather",
                             "averagegrad", "reducescatter", "reduce_scatter", "processgroup",
                             "_reduce_grad", "_unsharded_flat_param"}))
    return Phase::kCommunication;
  // A convolution, a normalisation or a recurrent layer by cuDNN is one operation, with results and
  // gradients of its own. PyTorch's dispatcher and autograd have its name in theirs.
  const bool operation = function.starts_with("at::") || function.starts_with("c10::impl::") ||
                         function.starts_with("torch::autograd::") ||
                         ContainsAny(function, {"cudnn_rnn", "cudnnrnn"});
  if (ContainsAny(module, {"libcublas", "libcudnn", "libcusolver", "libcusparse", "libcufft"}) ||
      ContainsAny(function, {"workspace"}) ||
      (!operation && ContainsAny(function, {"cublas", "cudnn"})))
    return Phase::kWorkspace;
  if (ContainsAny(function, {"optim", "adam::", "adamw", "sgd::", "clip_grad", "gradscaler",
                             "_init_group"}) ||
      ContainsAny(BaseName(file), {"optim"}) ||
      (ContainsAny(file, {"/optim/", "/optimizers/"}) && !ContainsAny(file, {"/swa_utils.py"})))
    return Phase::kOptimizer;
  if (ContainsAny(function, {"dataloader", "loader::", "pin_memory", "uploadbatch", "collate"}) ||
      ContainsAny(file, {"dataloader", "/data/_utils"}))
    return Phase::kInput;
  if (ContainsAny(function,
                  {"accumulategrad", "preparegrad", "allocategrad", "initgrad", "zerograd"}))
    return Phase::kGradient;
  if (ContainsAny(function, {"backward", "autograd::engine", "autograd::node"}))
    return Phase::kBackward;
  if (ContainsAny(function, {"parameter::", "load_state_dict", "from_pretrained"}))
    return Phase::kParameter;
  if (ContainsAny(function, {"forward", "loss", "evaluat", "inference"})) return Phase::kForward;
  return Phase::kNone;
}

}  // namespace memprof::analysis
