// Launching a kernel body. A body is a small copyable struct with a __host__ __device__ call
// operator, written once:
//
//   LaunchEach(body, n, stream)     body(i) for each i in [0, n): one GPU thread per index
//   LaunchRows(body, rows, stream)  body(row, lanes) for each row: one warp per row (see lanes.cuh)
//
// Each instantiation is an ordinary __global__ function. On the stand-in CUDA its host version is
// registered before its first launch and runs the same body on the CPU; on a real CUDA the
// registration function does not exist and nothing is registered.
#ifndef DEMO_TRAINER_KERNELS_LAUNCH_CUH_
#define DEMO_TRAINER_KERNELS_LAUNCH_CUH_

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "demo_trainer/error.h"
#include "demo_trainer/kernels/lanes.cuh"
#include "demo_trainer/stand_in.h"

namespace memprof::demo {

inline constexpr int kThreadsPerBlock = 128;

template <typename Body>
__global__ void EachKernel(Body body, int64_t n) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += stride) {
    body(i);
  }
}

template <typename Body>
__global__ void RowsKernel(Body body, int64_t rows) {
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (blockDim.x / 32);
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
       row < rows; row += warps) {
    body(row, WarpLanes());
  }
}

// Host versions, called by the stand-in with copies of the kernel's arguments.
template <typename Body>
void EachOnHost(const simcuda_launch* launch) {
  const int64_t n = *static_cast<const int64_t*>(launch->args[1]);
  const size_t grain = 4096;
  stand_in::ParallelFor(
      static_cast<size_t>(n), Body::kCostly ? 4 : grain,
      [](void* context, size_t begin, size_t end) {
        const Body body = *static_cast<const Body*>(context);
        for (size_t i = begin; i < end; ++i) body(static_cast<int64_t>(i));
      },
      launch->args[0]);
}

template <typename Body>
void RowsOnHost(const simcuda_launch* launch) {
  const int64_t rows = *static_cast<const int64_t*>(launch->args[1]);
  stand_in::ParallelFor(
      static_cast<size_t>(rows), 4,
      [](void* context, size_t begin, size_t end) {
        const Body body = *static_cast<const Body*>(context);
        for (size_t row = begin; row < end; ++row) body(static_cast<int64_t>(row), SingleLane());
      },
      launch->args[0]);
}

template <typename Body>
void LaunchBody(const void* kernel, Body body, int64_t count, int64_t blocks, cudaStream_t stream) {
  constexpr int64_t kMaxBlocks = 65535;
  const dim3 grid(static_cast<unsigned>(std::clamp<int64_t>(blocks, 1, kMaxBlocks)));
  void* args[] = {&body, &count};
  Check(cudaLaunchKernel(kernel, grid, dim3(kThreadsPerBlock), args, 0, stream),
        "launching a kernel");
}

template <typename Body>
void LaunchEach(const Body& body, int64_t n, cudaStream_t stream) {
  const void* kernel = reinterpret_cast<const void*>(&EachKernel<Body>);
  static const bool registered =
      stand_in::RegisterHostKernel(kernel, &EachOnHost<Body>, {sizeof(Body), sizeof(int64_t)});
  (void)registered;
  if (n <= 0) return;
  LaunchBody(kernel, body, n, (n + kThreadsPerBlock - 1) / kThreadsPerBlock, stream);
}

template <typename Body>
void LaunchRows(const Body& body, int64_t rows, cudaStream_t stream) {
  const void* kernel = reinterpret_cast<const void*>(&RowsKernel<Body>);
  static const bool registered =
      stand_in::RegisterHostKernel(kernel, &RowsOnHost<Body>, {sizeof(Body), sizeof(int64_t)});
  (void)registered;
  if (rows <= 0) return;
  constexpr int kRowsPerBlock = kThreadsPerBlock / 32;
  LaunchBody(kernel, body, rows, (rows + kRowsPerBlock - 1) / kRowsPerBlock, stream);
}

// Base of bodies for LaunchEach: Costly ones are divided among host threads in small pieces.
struct CheapBody {
  static constexpr bool kCostly = false;
};
struct CostlyBody {
  static constexpr bool kCostly = true;
};

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_KERNELS_LAUNCH_CUH_
