// What the names of tensors, functions, files and ranges indicate.
#pragma once

#include <cstdint>
#include <string_view>

#include "analysis/categories/categories.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// A phase of a step.
enum class Phase : std::uint8_t {
  kNone,
  kSetUp,
  kForward,
  kBackward,
  kOptimizer,
  // A purpose rather than a phase.
  kInput,
  kCommunication,
  kWorkspace,
  kParameter,
  kGradient,
};

// kUnknown if the name indicates nothing.
Category CategoryOfTensorName(std::string_view name);
// Whether it is a typical name of a parameter: "blocks.3.attn.qkv.weight".
bool IsParameterName(std::string_view name);

// The phase of a frame; kNone for most.
Phase PhaseOfFrame(const SourceFrame& frame);
// The phase of a range's name; only phases of a step, and communication.
Phase PhaseOfRange(std::string_view name);

}  // namespace memprof::analysis
