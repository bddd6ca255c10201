// Whether windows of a token stream are transactions: what they take they give back, or they learn.
//
#pragma once

#include <cstdint>
#include <span>

#include "analysis/steps/internal/pattern.h"

namespace memprof::analysis {

// Of what a step takes: too little to be live memory.
inline constexpr double kNothing = 0.001;

// Share of steps before which memory was as low as it ever was before a later step. `swing` is what
// a step takes at most.
double ClosedShare(const TokenStream& stream, std::span<const std::uint32_t> begins, double swing);
// Of what windows take at most, how much they give back: those that set something up keep it all.
double ReturnedShare(const TokenStream& stream, std::span<const std::uint32_t> begins,
                     double swing);
// Whether nearly all windows have a backward pass: then they set nothing up, whatever they keep.
bool Trains(const TokenStream& stream, std::span<const std::uint32_t> begins);

}  // namespace memprof::analysis
