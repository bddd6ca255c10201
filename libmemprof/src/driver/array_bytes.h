// Bytes of CUDA arrays from their descriptors: elements times channels times the size of a channel.
// The driver may round up for its tiling, by an amount that is not public for plain arrays.
#pragma once

#include <cstdint>

#include "libmemprof/src/driver/api.h"

namespace memprof::recorder {

// Each answers 0 for a null descriptor or an unknown format.
std::uint64_t ArrayBytes(const CUDA_ARRAY_DESCRIPTOR* descriptor);
// Sums the levels of a mipmap: each halves every extent, down to 1; layers do not shrink.
std::uint64_t ArrayBytes3D(const CUDA_ARRAY3D_DESCRIPTOR* descriptor, unsigned levels);
// Bits of one element with all its channels; 0 for an unknown format.
std::uint64_t ElementBits(CUarray_format format, unsigned channels);
// Whether the array gets its memory only by cuMemMapArrayAsync, not by its creation.
bool IsMappedLater(const CUDA_ARRAY3D_DESCRIPTOR* descriptor);
// Whether such an array is mapped as a whole.
bool IsMappedAsWhole(const CUDA_ARRAY3D_DESCRIPTOR* descriptor);

}  // namespace memprof::recorder
