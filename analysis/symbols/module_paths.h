// Which module of a network ran when memory was allocated: "blocks.3.attn.qkv (forward)", from the
// ranges that `memprof run --torch` puts around modules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

enum class ModulePass : std::uint8_t { kForward, kBackward, kRecomputed, kOptimizer };

// The content of the name of such a range; empty for other names.
struct ModuleRangeName {
  std::string_view path;  // "blocks.3.attn.qkv", or of an optimizer "AdamW.step"
  ModulePass pass = ModulePass::kForward;
};
std::optional<ModuleRangeName> ParseModuleRange(std::string_view name);
bool IsModuleRange(std::string_view name);

// Tensors that are named within this range are parameters and buffers.
inline constexpr std::string_view kParametersRange = "memprof: parameters";

// Ranges of some names, by thread and time. Immutable after construction.
class RangesOfThreads {
 public:
  RangesOfThreads(const Session& session, bool (*wanted)(std::string_view name));

  bool empty() const { return empty_; }
  // The innermost one that is open on the thread of `event`, a row of Session::ranges(); O(log n).
  std::optional<std::size_t> At(EventId event) const;

 private:
  struct Range {
    TimeNs begin = 0, end = 0;
    std::uint32_t row = 0;
    std::int32_t around = -1;  // the one that it lies in
  };
  const Session& session_;
  std::vector<std::vector<Range>> threads_;
  bool empty_ = true;
};

// The modules that made the allocations `ids`, as text: "Model (forward), 40 times"; "" if none is
// known. Looks at some thousand allocations at most.
std::string ModulesOf(const Session& session, const std::vector<AllocationId>& ids);

}  // namespace memprof::analysis
