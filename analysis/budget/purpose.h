// What memory of a program that serves a model is for: weights, the KV cache, activations, and so
// on. Categories (analysis/categories/) are about training steps; this adds what the call stacks of
// servers show. docs/budget.md has the rules.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/categories/categories.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

enum class Purpose : std::uint8_t {
  kOther,  // no evidence
  kWeights,
  kGradients,
  kOptimizerState,
  kKvCache,
  kActivations,  // also temporaries
  kInputs,
  kWorkspaces,
  kCommunication,
};
inline constexpr std::size_t kPurposeCount = 9;
// "weights", "KV cache", …; PurposeKey: "kv_cache", for JSON.
std::string_view PurposeName(Purpose purpose);
std::string_view PurposeKey(Purpose purpose);

// What the frames of a stack, innermost first, say; kOther for nothing.
Purpose PurposeOfFrames(const std::vector<SourceFrame>& frames);

// Caches what it finds for each stack. Not thread-safe.
class Purposes {
 public:
  Purposes(const Session& session, Symbols& symbols)
      : session_(session), symbols_(symbols), categories_(session, &symbols) {}

  // Of a block, or of memory of the driver that no allocator divides.
  Purpose Of(AllocationId id);
  // Memory that an allocator divides: its parts are judged, not itself.
  bool IsDivided(AllocationId id) const { return categories_.Of(id).category == Category::kSlack; }

 private:
  Purpose OfStack(StackId stack);

  const Session& session_;
  Symbols& symbols_;
  const Categories categories_;
  absl::flat_hash_map<std::uint32_t, Purpose> of_stack_;
};

}  // namespace memprof::analysis
