// Sizes of array formats, after the CUarray_format enumeration of cuda.h. By number, because older
// toolkits lack some of the names. Planar video formats have no size of a pixel: they count 0.
#include "libmemprof/src/driver/array_bytes.h"

#include <string.h>

namespace memprof::recorder {
namespace {

// CUDA_ARRAY3D_SPARSE and CUDA_ARRAY3D_DEFERRED_MAPPING, from CUDA 11.1 and 11.6 on.
constexpr unsigned kSparse = 0x40, kDeferred = 0x80;

// Bits of one channel of one element; 0 for formats without separate channels.
std::uint64_t ChannelBits(int format) {
  switch (format) {
    case 0x01:  // unsigned 8, 16, 32
    case 0x08:  // signed 8, 16, 32
      return 8;
    case 0x02:
    case 0x09:
    case 0x10:  // half
      return 16;
    case 0x03:
    case 0x0a:
    case 0x20:  // float
      return 32;
    default:
      // Normalised integers: {unsigned, signed} x {8, 16 bits} x {1, 2, 4 channels}.
      return format >= 0xc0 && format <= 0xcb ? ((format - 0xc0) % 6 < 3 ? 8 : 16) : 0;
  }
}

// Bits of one pixel of a block-compressed format, all channels; else 0.
std::uint64_t CompressedBits(int format) {
  if (format < 0x91 || format > 0x9e) return 0;
  const bool half_byte = format <= 0x92 || format == 0x97 || format == 0x98;  // BC1, BC4
  return half_byte ? 4 : 8;
}

std::uint64_t Bytes(std::uint64_t elements, CUarray_format format, unsigned channels) {
  return (elements * ElementBits(format, channels) + 7) / 8;
}

std::uint64_t AtLeastOne(std::uint64_t extent) { return extent == 0 ? 1 : extent; }

}  // namespace

std::uint64_t ElementBits(CUarray_format format, unsigned channels) {
  const int number = static_cast<int>(format);
  if (const std::uint64_t pixel = CompressedBits(number)) return pixel;
  return ChannelBits(number) * (channels == 0 ? 1 : channels);
}

bool IsMappedLater(const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  return descriptor != nullptr && (descriptor->Flags & (kSparse | kDeferred)) != 0;
}

bool IsMappedAsWhole(const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  return descriptor != nullptr && (descriptor->Flags & kDeferred) != 0;
}

std::uint64_t ArrayBytes(const CUDA_ARRAY_DESCRIPTOR* descriptor) {
  if (descriptor == nullptr) return 0;
  return Bytes(descriptor->Width * AtLeastOne(descriptor->Height), descriptor->Format,
               descriptor->NumChannels);
}

std::uint64_t ArrayBytes3D(const CUDA_ARRAY3D_DESCRIPTOR* descriptor, unsigned levels) {
  if (descriptor == nullptr) return 0;
  std::uint64_t width = descriptor->Width;
  std::uint64_t height = AtLeastOne(descriptor->Height);
  std::uint64_t depth = AtLeastOne(descriptor->Depth);
  const bool layered = (descriptor->Flags & CUDA_ARRAY3D_LAYERED) != 0;
  std::uint64_t elements = 0;
  for (unsigned level = 0; level < levels && level < 64; ++level) {
    elements += width * height * depth;
    width = AtLeastOne(width / 2);
    height = AtLeastOne(height / 2);
    if (!layered) depth = AtLeastOne(depth / 2);
  }
  return Bytes(elements, descriptor->Format, descriptor->NumChannels);
}

}  // namespace memprof::recorder
