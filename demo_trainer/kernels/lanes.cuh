// Lanes: how the workers of one row share it. On a GPU a row belongs to a warp and its 32 lanes
// stride over it; on the host a row has a single lane, whose step is the constant 1, so that the
// compiler sees a plain loop and vectorises it.
#ifndef DEMO_TRAINER_KERNELS_LANES_CUH_
#define DEMO_TRAINER_KERNELS_LANES_CUH_

#include <cuda_runtime.h>

namespace memprof::demo {

struct SingleLane {
  // Neighbouring elements that a lane processes together if possible: one vector on the host.
  static constexpr int kWide = 8;
  __host__ __device__ static constexpr int First() { return 0; }
  __host__ __device__ static constexpr int Step() { return 1; }
  __host__ __device__ static float Sum(float value) { return value; }
  __host__ __device__ static double Sum(double value) { return value; }
  __host__ __device__ static float Max(float value) { return value; }
  __host__ __device__ static void Sync() {}
};

#ifdef __CUDACC__
struct WarpLanes {
  static constexpr int kWide = 1;
  static constexpr unsigned kAll = 0xffffffffu;

  __device__ static int First() { return static_cast<int>(threadIdx.x & 31u); }
  __device__ static constexpr int Step() { return 32; }

  // Every lane receives the result.
  template <typename T>
  __device__ static T Sum(T value) {
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(kAll, value, offset);
    return value;
  }
  __device__ static float Max(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
      value = fmaxf(value, __shfl_xor_sync(kAll, value, offset));
    }
    return value;
  }
  // Makes what the lanes stored visible to each other.
  __device__ static void Sync() { __syncwarp(kAll); }
};
#endif

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_KERNELS_LANES_CUH_
