// Which value of a server's setting its traffic needed, and which the device would have allowed.
//
// vLLM, --gpu-memory-utilization u: the KV cache gets u * total - outside, where `outside` is what
// the engine measured for everything else (vllm/v1/worker/utils.py request_memory, gpu_worker.py
// determine_available_memory). SGLang, --mem-fraction-static f: it gets available - (1 - f) *
// before, where `before` is the free memory before the model was loaded
// (srt/mem_cache/kv_cache_configurator.py _profile_available_bytes). In both, one block more costs
// block / total, or block / before, of the setting; what else the engine measured cancels out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/budget/budget.h"

namespace memprof::analysis {

struct SettingValue {
  double value = 0;  // of the option
  std::uint64_t blocks = 0;
};

struct PoolSetting {
  std::string option;            // "--gpu-memory-utilization"
  double now = 0;                // as said, or from what was measured
  bool measured = false;         // the program did not say the value
  std::uint64_t base_bytes = 0;  // of which the value is a share
  std::uint64_t block_bytes = 0;
  std::uint64_t margin_bytes = 0;  // kept free, in both
  // The least value, in hundredths, with room for what the traffic used at most.
  SettingValue needed;
  // The highest one, in hundredths, that leaves the margin; none if no more blocks fit than now.
  std::optional<SettingValue> possible;
};

// Blocks that nothing can use: vLLM's block 0 stands for no block.
inline constexpr std::uint64_t kReservedBlocks = 1;

// `budget`: at the highest use, of the pool's device; `margin`: a share of the device, kept free.
// None if the pool names no setting that is known here, or its size is not known.
std::optional<PoolSetting> FindSetting(const Session& session, const PoolUsage& pool,
                                       const DeviceBudget& budget, double margin);

}  // namespace memprof::analysis
