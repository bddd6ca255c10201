// bfloat16 storage: the upper half of a float, rounded to nearest even. Arithmetic is done in
// float; this type only loads and stores, on the device and on the host alike.
#ifndef DEMO_TRAINER_KERNELS_BF16_H_
#define DEMO_TRAINER_KERNELS_BF16_H_

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define DEMO_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define DEMO_HOST_DEVICE inline
#endif

namespace memprof::demo {

struct BFloat16 {
  uint16_t bits;
};

DEMO_HOST_DEVICE float ToFloat(float value) { return value; }

DEMO_HOST_DEVICE float ToFloat(BFloat16 value) {
  const uint32_t wide = static_cast<uint32_t>(value.bits) << 16;
  float result;
  memcpy(&result, &wide, sizeof(result));
  return result;
}

template <typename T>
DEMO_HOST_DEVICE T FromFloat(float value);

template <>
DEMO_HOST_DEVICE float FromFloat<float>(float value) {
  return value;
}

template <>
DEMO_HOST_DEVICE BFloat16 FromFloat<BFloat16>(float value) {
  uint32_t wide;
  memcpy(&wide, &value, sizeof(wide));
  // A NaN keeps a set mantissa bit, whatever the rounding does.
  const bool is_nan = (wide & 0x7fffffffu) > 0x7f800000u;
  const uint32_t rounded = wide + 0x7fffu + ((wide >> 16) & 1u);
  return BFloat16{static_cast<uint16_t>((is_nan ? (wide | 0x400000u) : rounded) >> 16)};
}

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_KERNELS_BF16_H_
