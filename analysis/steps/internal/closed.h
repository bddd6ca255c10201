// Whether windows of a token stream are steps: they free what they allocate, or they train.
#pragma once

#include <cstdint>
#include <span>

#include "analysis/steps/internal/pattern.h"

namespace memprof::analysis {

// As a share of a step's memory: too little to count as live.
inline constexpr double kTooLittle = 0.001;

// The share of steps before which memory was as low as before any later step. `swing`: the most
// that a step takes.
double ClosedShare(const TokenStream& stream, std::span<const std::uint32_t> begins, double swing);
// The share of a window's highest memory that it frees: windows of set-up keep everything.
double ReturnedShare(const TokenStream& stream, std::span<const std::uint32_t> begins,
                     double swing);
// Whether nearly all windows have a backward pass: then they are no set-up, whatever they keep.
bool Trains(const TokenStream& stream, std::span<const std::uint32_t> begins);

}  // namespace memprof::analysis
