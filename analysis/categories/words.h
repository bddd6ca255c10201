// What names say: of tensors, functions, files and ranges.
#pragma once

#include <cstdint>
#include <string_view>

#include "analysis/categories/categories.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// When within a step something happens.
enum class Phase : std::uint8_t {
  kNone,
  kSetUp,
  kForward,
  kBackward,
  kOptimizer,
  // Not when, but what for.
  kInput,
  kCommunication,
  kWorkspace,
  kParameter,
  kGradient,
};

// kUnknown where the name says nothing.
Category CategoryOfTensorName(std::string_view name);
// A name that parameters have: "blocks.3.attn.qkv.weight".
bool IsParameterName(std::string_view name);

// What a frame says, kNone for most.
Phase PhaseOfFrame(const SourceFrame& frame);
// What a range's name says; only phases of a step, and communication.
Phase PhaseOfRange(std::string_view name);

}  // namespace memprof::analysis
