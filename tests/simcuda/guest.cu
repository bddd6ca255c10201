// A guest like a user's program: kernels, a device variable, a managed variable, streams. Prints
// "all well" when all results are right.
#include <dlfcn.h>

#include <cstdio>
#include <vector>

#include "simcuda/simcuda.h"

__device__ int counter;
__managed__ int shared_values[4];

__global__ void Add(const float* a, const float* b, float* out, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = a[i] + b[i];
}

__global__ void DoNothing(double /*unused*/) {}

#define CHECK(call)                                                                 \
  do {                                                                              \
    const cudaError_t error = (call);                                               \
    if (error != cudaSuccess) {                                                     \
      std::printf("%s: line %d: %s\n", #call, __LINE__, cudaGetErrorString(error)); \
      return 1;                                                                     \
    }                                                                               \
  } while (false)

namespace {

constexpr int kCompiledFor = __CUDA_ARCH_LIST__;  // one architecture here

struct AddArguments {
  const float* a;
  const float* b;
  float* out;
};

decltype(&simcuda_parallel_for) parallel_for = nullptr;

void AddOnHost(const simcuda_launch* launch) {
  AddArguments arguments = {*static_cast<const float**>(launch->args[0]),
                            *static_cast<const float**>(launch->args[1]),
                            *static_cast<float**>(launch->args[2])};
  const int count = *static_cast<int*>(launch->args[3]);
  parallel_for(
      static_cast<size_t>(count), 1000,
      [](void* context, size_t begin, size_t end) {
        const auto* one = static_cast<AddArguments*>(context);
        for (size_t i = begin; i < end; ++i) one->out[i] = one->a[i] + one->b[i];
      },
      &arguments);
}

template <class Function>
Function Find(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

int main() {
  const auto register_kernel =
      Find<decltype(&simcuda_register_host_kernel)>("simcuda_register_host_kernel");
  parallel_for = Find<decltype(&simcuda_parallel_for)>("simcuda_parallel_for");
  const size_t sizes[] = {sizeof(float*), sizeof(float*), sizeof(float*), sizeof(int)};
  if (register_kernel == nullptr || parallel_for == nullptr ||
      register_kernel(reinterpret_cast<const void*>(&Add), &AddOnHost, 4, sizes) != 0) {
    std::printf("not on the stand-in\n");
    return 1;
  }
  constexpr int kCount = 100000;
  constexpr size_t kBytes = kCount * sizeof(float);
  float* a = nullptr;
  float* b = nullptr;
  float* out = nullptr;
  CHECK(cudaMalloc(&a, kBytes));
  CHECK(cudaMalloc(&b, kBytes));
  CHECK(cudaMallocAsync(&out, kBytes, nullptr));
  std::vector<float> host(kCount, 1.5F);
  CHECK(cudaMemcpy(a, host.data(), kBytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(b, 0, kBytes));
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  Add<<<(kCount + 255) / 256, 256, 0, stream>>>(a, b, out, kCount);
  CHECK(cudaGetLastError());
  DoNothing<<<1, 1>>>(2.0);
  CHECK(cudaGetLastError());
  Add<<<(kCount + 255) / 256, 256>>>(out, a, out, kCount);
  CHECK(cudaMemcpy(host.data(), out, kBytes, cudaMemcpyDeviceToHost));
  if (host.front() != 3.0F || host.back() != 3.0F) {
    std::printf("sum is %f\n", static_cast<double>(host.back()));
    return 1;
  }
  int value = 5;
  CHECK(cudaMemcpyToSymbol(counter, &value, sizeof(value)));
  value = 0;
  CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof(value)));
  shared_values[3] = value;
  if (shared_values[3] != 5) {
    std::printf("variable is %d\n", value);
    return 1;
  }
  DoNothing<<<1, 2000>>>(2.0);
  if (cudaGetLastError() != cudaErrorInvalidConfiguration) {
    std::printf("an impossible launch went through\n");
    return 1;
  }
  // Thrust and CUB select their kernels by this version, and abort if none matches.
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, Add));
  if (attributes.ptxVersion * 10 != kCompiledFor) {
    std::printf("compiled for %d, reported as %d\n", kCompiledFor, attributes.ptxVersion * 10);
    return 1;
  }
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  CHECK(cudaFreeAsync(out, stream));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaDeviceSynchronize());
  std::printf("all well\n");
  return 0;
}
