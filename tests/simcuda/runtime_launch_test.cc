// The stand-in cudart through its exports: graphs, registered kernels, entry points, forks.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/simcuda/runtime_fixture.h"

namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=64MiB,devices=2,threads=6");

// Functions that code compiled by nvcc calls at startup.
extern "C" void** __cudaRegisterFatBinary(void* fat_binary);
extern "C" void __cudaRegisterFatBinaryEnd(void** handle);
extern "C" void __cudaUnregisterFatBinary(void** handle);
extern "C" void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*,
                                       dim3*, dim3*, int*);
extern "C" void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int);

TEST(Runtime, EntryPointsAreTheDrivers) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
  CHECK_RT(
      cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, cudaEnableDefault, &status));
  EXPECT_EQ(status, cudaDriverEntryPointSuccess);
  EXPECT_EQ(function, dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemAlloc_v2"));
}

TEST(Runtime, LookingUpAnEntryPointMakesNoContext) {
  // Runs on a thread that has chosen no device, after the objects of all other tests are destroyed.
  CHECK_RT(cudaDeviceReset());
  std::thread([] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
    CHECK_RT(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, cudaEnableDefault,
                                              &status));
    EXPECT_NE(function, nullptr);
  }).join();
  const auto get_state = reinterpret_cast<int (*)(int, unsigned*, int*)>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuDevicePrimaryCtxGetState"));
  unsigned flags = 0;
  int active = -1;
  ASSERT_EQ(get_state(0, &flags, &active), 0);
  EXPECT_EQ(active, 0);
}

TEST(Runtime, GraphsRunWhatWasCaptured) {
  cudaStream_t stream = nullptr;
  CHECK_RT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  void* values = nullptr;
  CHECK_RT(cudaMalloc(&values, 64));
  CHECK_RT(cudaMemset(values, 0, 64));
  CHECK_RT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  CHECK_RT(cudaStreamIsCapturing(stream, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  CHECK_RT(cudaMemsetAsync(values, 9, 64, stream));
  cudaGraph_t graph = nullptr;
  CHECK_RT(cudaStreamEndCapture(stream, &graph));
  cudaGraphNode_t node = nullptr;
  size_t count = 1;
  CHECK_RT(cudaGraphGetRootNodes(graph, &node, &count));
  ASSERT_EQ(count, 1u);
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  CHECK_RT(cudaGraphNodeGetType(node, &type));
  EXPECT_EQ(type, cudaGraphNodeTypeMemset);
  std::atomic<int> ran{0};
  const cudaHostNodeParams function = {[](void* data) { ++*static_cast<std::atomic<int>*>(data); },
                                       &ran};
  cudaGraphNode_t host = nullptr;
  CHECK_RT(cudaGraphAddHostNode(&host, graph, &node, 1, &function));
  cudaGraphExec_t exec = nullptr;
  CHECK_RT(cudaGraphInstantiate(&exec, graph, 0));
  CHECK_RT(cudaGraphLaunch(exec, stream));
  CHECK_RT(cudaGraphLaunch(exec, stream));
  CHECK_RT(cudaStreamSynchronize(stream));
  EXPECT_EQ(ran, 2);
  unsigned char last = 0;
  CHECK_RT(cudaMemcpy(&last, static_cast<char*>(values) + 63, 1, cudaMemcpyDeviceToHost));
  EXPECT_EQ(last, 9);
  CHECK_RT(cudaGraphExecDestroy(exec));
  CHECK_RT(cudaGraphDestroy(graph));
  CHECK_RT(cudaFree(values));
  CHECK_RT(cudaStreamDestroy(stream));
}

char g_kernel;
int g_variable;
std::atomic<int> g_launches{0};
std::atomic<unsigned> g_last_argument{0};

void HostVersion(const simcuda_launch* launch) {
  ++g_launches;
  g_last_argument = *static_cast<unsigned*>(launch->args[1]) + launch->grid[0];
}

TEST(Runtime, RegisteredKernelsRun) {
  const char image[64] = "not a real image";
  void** handle = __cudaRegisterFatBinary(const_cast<char*>(image));
  __cudaRegisterFunction(handle, &g_kernel, nullptr, "_Z6kernelPvj", -1, nullptr, nullptr, nullptr,
                         nullptr, nullptr);
  __cudaRegisterVar(handle, reinterpret_cast<char*>(&g_variable), nullptr, "g_variable", 0,
                    sizeof(g_variable), 0, 0);
  __cudaRegisterFatBinaryEnd(handle);
  const auto register_host = reinterpret_cast<decltype(&simcuda_register_host_kernel)>(
      dlsym(RTLD_DEFAULT, "simcuda_register_host_kernel"));
  const size_t sizes[] = {8, 4};
  EXPECT_EQ(1, register_host(nullptr, &HostVersion, 2, sizes));
  EXPECT_EQ(1, register_host(&g_kernel, &HostVersion, -1, sizes));
  EXPECT_EQ(1, register_host(&g_kernel, &HostVersion, 2, nullptr));
  ASSERT_EQ(0, register_host(&g_kernel, &HostVersion, 2, sizes));

  void* pointer = nullptr;
  unsigned value = 40;
  void* args[] = {&pointer, &value};
  CHECK_RT(cudaLaunchKernel(&g_kernel, dim3(2), dim3(32), args, 0, nullptr));
  value = 0;
  CHECK_RT(cudaDeviceSynchronize());
  EXPECT_EQ(g_launches, 1);
  EXPECT_EQ(g_last_argument, 42u);
  EXPECT_EQ(cudaErrorInvalidConfiguration,
            cudaLaunchKernel(&g_kernel, dim3(1), dim3(2000), args, 0, nullptr));
  EXPECT_EQ(cudaErrorInvalidDeviceFunction,
            cudaLaunchKernel(&g_launches, dim3(1), dim3(1), args, 0, nullptr));
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(1);
  CHECK_RT(cudaLaunchKernelExC(&config, &g_kernel, args));
  CHECK_RT(cudaDeviceSynchronize());
  EXPECT_EQ(g_launches, 2);

  // After a reset the module is loaded again.
  CHECK_RT(cudaDeviceReset());
  CHECK_RT(cudaLaunchKernel(&g_kernel, dim3(1), dim3(1), args, 0, nullptr));
  CHECK_RT(cudaDeviceSynchronize());
  EXPECT_EQ(g_launches, 3);

  int number = 17;
  CHECK_RT(cudaMemcpyToSymbol(&g_variable, &number, sizeof(number), 0, cudaMemcpyHostToDevice));
  int back = 0;
  CHECK_RT(cudaMemcpyFromSymbol(&back, &g_variable, sizeof(back), 0, cudaMemcpyDeviceToHost));
  EXPECT_EQ(back, 17);
  EXPECT_EQ(cudaErrorInvalidValue,
            cudaMemcpyToSymbol(&g_variable, &number, sizeof(number), 1, cudaMemcpyHostToDevice));
  EXPECT_EQ(cudaErrorInvalidSymbol, cudaGetSymbolAddress(&pointer, &number));
  cudaGetLastError();
  cudaFuncAttributes attributes = {};
  CHECK_RT(cudaFuncGetAttributes(&attributes, &g_kernel));
  EXPECT_EQ(attributes.maxThreadsPerBlock, 1024);
  int blocks = 0;
  CHECK_RT(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &g_kernel, 1024, 0));
  EXPECT_EQ(blocks, 2);
  __cudaUnregisterFatBinary(handle);
  EXPECT_EQ(cudaErrorInvalidDeviceFunction,
            cudaLaunchKernel(&g_kernel, dim3(1), dim3(1), args, 0, nullptr));
}

TEST(Runtime, ParallelForCoversEverythingOnce) {
  const auto parallel_for = reinterpret_cast<decltype(&simcuda_parallel_for)>(
      dlsym(RTLD_DEFAULT, "simcuda_parallel_for"));
  constexpr size_t kCount = 10007;
  for (const size_t grain : {size_t{0}, size_t{1}, size_t{64}, size_t{20000}}) {
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 3; ++caller) {
      callers.emplace_back([&] {
        std::vector<std::atomic<int>> seen(kCount);
        parallel_for(
            kCount, grain,
            [](void* context, size_t begin, size_t end) {
              auto& all = *static_cast<std::vector<std::atomic<int>>*>(context);
              for (size_t i = begin; i < end; ++i) ++all[i];
            },
            &seen);
        for (const auto& one : seen) ASSERT_EQ(one, 1);
      });
    }
    for (std::thread& caller : callers) caller.join();
  }
}

TEST(Runtime, ForkWithoutCudaInTheChildIsClean) {
  void* pointer = nullptr;
  CHECK_RT(cudaMalloc(&pointer, 100));
  const pid_t child = fork();
  if (child == 0) exit(cudaMalloc(&pointer, 100) == cudaErrorInitializationError ? 44 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 44);
  CHECK_RT(cudaFree(pointer));
}

}  // namespace
