// Channel descriptors of the runtime and formats of the driver.
#include "simcuda/runtime/channel.h"

#include <initializer_list>

namespace memprof::simcuda::runtime {

bool Format(const cudaChannelFormatDesc& channel, CUarray_format* format, unsigned* channels) {
  *channels = 1u + (channel.y != 0) + (channel.z != 0) + (channel.w != 0);
  if (*channels == 3) return false;
  for (const int bits : {channel.y, channel.z, channel.w}) {
    if (bits != 0 && bits != channel.x) return false;
  }
  switch (channel.f) {
    case cudaChannelFormatKindUnsigned:
      *format = channel.x == 8    ? CU_AD_FORMAT_UNSIGNED_INT8
                : channel.x == 16 ? CU_AD_FORMAT_UNSIGNED_INT16
                                  : CU_AD_FORMAT_UNSIGNED_INT32;
      break;
    case cudaChannelFormatKindSigned:
      *format = channel.x == 8    ? CU_AD_FORMAT_SIGNED_INT8
                : channel.x == 16 ? CU_AD_FORMAT_SIGNED_INT16
                                  : CU_AD_FORMAT_SIGNED_INT32;
      break;
    case cudaChannelFormatKindFloat:
      *format = channel.x == 16 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT;
      if (channel.x == 8) return false;
      break;
    default:
      return false;
  }
  return channel.x == 8 || channel.x == 16 || channel.x == 32;
}

cudaChannelFormatDesc Channel(CUarray_format format, unsigned channels) {
  int bits = 32;
  cudaChannelFormatKind kind = cudaChannelFormatKindFloat;
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      bits = 8;
      break;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      bits = 16;
      break;
    default:
      break;
  }
  if (format <= CU_AD_FORMAT_UNSIGNED_INT32) {
    kind = cudaChannelFormatKindUnsigned;
  } else if (format <= CU_AD_FORMAT_SIGNED_INT32) {
    kind = cudaChannelFormatKindSigned;
  }
  const unsigned n = channels;
  return {bits, n > 1 ? bits : 0, n > 2 ? bits : 0, n > 3 ? bits : 0, kind};
}

}  // namespace memprof::simcuda::runtime
