// Concludes purposes from names, call stacks and categories, in this order.
#include "analysis/budget/purpose.h"

#include <string>

#include "analysis/base/text.h"

namespace memprof::analysis {
namespace {

// Functions that decide for everything which they call. Those of vLLM (v1/worker) and SGLang
// (srt/mem_cache, srt/model_executor) by their names there, from 2024 to 2026.
Purpose OfFunction(std::string_view function, std::string_view file) {
  if (ContainsAny(function, {"load_model", "load_weights", "from_pretrained", "load_state_dict"}))
    return Purpose::kWeights;
  if (ContainsAny(function, {"kv_cache", "kvcache", "kvpool", "kv_pool"}) ||
      ContainsAny(file, {"sglang/srt/mem_cache/"}))
    return Purpose::kKvCache;
  const std::size_t dot = function.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? function : function.substr(dot + 1);
  if (last == "forward" || last == "generate" ||
      ContainsAny(function, {"execute_model", "profile_run", "_dummy_run", "sample_tokens"}))
    return Purpose::kActivations;
  return Purpose::kOther;
}

Purpose OfCategory(Category category) {
  switch (category) {
    case Category::kParameters:
      return Purpose::kWeights;
    case Category::kGradients:
      return Purpose::kGradients;
    case Category::kOptimizerState:
      return Purpose::kOptimizerState;
    case Category::kActivations:
    case Category::kTemporaries:
      return Purpose::kActivations;
    case Category::kInputs:
      return Purpose::kInputs;
    case Category::kWorkspaces:
      return Purpose::kWorkspaces;
    case Category::kCommunication:
      return Purpose::kCommunication;
    case Category::kUnknown:
    case Category::kLeaks:
    case Category::kSlack:
      break;
  }
  return Purpose::kOther;
}

constexpr std::string_view kPurposeNames[kPurposeCount][2] = {
    {"other memory of the program", "other"},
    {"weights", "weights"},
    {"gradients", "gradients"},
    {"optimizer state", "optimizer_state"},
    {"KV cache", "kv_cache"},
    {"activations", "activations"},
    {"inputs", "inputs"},
    {"workspaces of libraries", "workspaces"},
    {"communication", "communication"},
};

}  // namespace

std::string_view PurposeName(Purpose purpose) {
  return kPurposeNames[static_cast<std::size_t>(purpose)][0];
}
std::string_view PurposeKey(Purpose purpose) {
  return kPurposeNames[static_cast<std::size_t>(purpose)][1];
}

Purpose PurposeOfFrames(const std::vector<SourceFrame>& frames) {
  // The KV cache of transformers grows within the forward pass.
  for (const SourceFrame& frame : frames)
    if (frame.python && frame.file.ends_with("transformers/cache_utils.py"))
      return Purpose::kKvCache;
  // The outermost decides: a server loads, profiles, makes its cache, or serves.
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    if (!frame->python) continue;
    const Purpose purpose = OfFunction(Lower(frame->function), Lower(frame->file));
    if (purpose != Purpose::kOther) return purpose;
  }
  return Purpose::kOther;
}

Purpose Purposes::OfStack(StackId stack) {
  if (!stack.valid()) return Purpose::kOther;
  const auto [row, fresh] = of_stack_.try_emplace(stack.value, Purpose::kOther);
  if (fresh) row->second = PurposeOfFrames(symbols_.ResolveStack(stack));
  return row->second;
}

Purpose Purposes::Of(AllocationId id) {
  const CategoryVerdict& verdict = categories_.Of(id);
  const Purpose by_category = OfCategory(verdict.category);
  // A name decides, and so do the frames of the library that allocates.
  if (verdict.reason == CategoryReason::kName && by_category != Purpose::kOther) return by_category;
  if (verdict.reason == CategoryReason::kStack &&
      (by_category == Purpose::kCommunication || by_category == Purpose::kWorkspaces))
    return by_category;
  const Purpose by_stack = OfStack(session_.record(id).stack);
  return by_stack == Purpose::kOther ? by_category : by_stack;
}

}  // namespace memprof::analysis
