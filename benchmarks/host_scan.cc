// How long a scan of host memory takes: 1 GiB of host memory, half of it in small blocks that point
// to each other, and 10,000 device blocks that a tree, a list and an array hold.
//
//     memprof run --sim -o scan.mprof -- build/bin/host_scan [sparse]
//
// "sparse": few nodes of the long list hold device memory, so that each level of the search finds
// one node more of each, and none leads to a variable: as slow as it gets.
#include <cuda.h>
#include <dlfcn.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <vector>

// Visible to other code, so that stores are not optimised away.
struct Node {
  Node* next;
  Node* other;
  CUdeviceptr device;
  unsigned long long numbers[60];
};
Node* g_list;
Node* g_filler;
std::map<int, CUdeviceptr> g_tree;
CUdeviceptr g_array[1000];
std::vector<std::unique_ptr<unsigned long long[]>> g_large;

namespace {

template <typename Function>
Function Find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

double CpuSeconds() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  const bool sparse = argc > 1 && std::strcmp(argv[1], "sparse") == 0;
  constexpr int kBlocks = 10'000;
  constexpr std::size_t kHalf = std::size_t{512} << 20, kLarge = std::size_t{32} << 20;
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return 2;
  CUcontext context = nullptr;
  if (Find<decltype(&cuInit)>(driver, "cuInit")(0) != CUDA_SUCCESS ||
      Find<decltype(&cuDevicePrimaryCtxRetain)>(driver, "cuDevicePrimaryCtxRetain")(&context, 0) !=
          CUDA_SUCCESS ||
      Find<decltype(&cuCtxSetCurrent)>(driver, "cuCtxSetCurrent")(context) != CUDA_SUCCESS)
    return 3;
  const auto allocate = Find<decltype(&cuMemAlloc_v2)>(RTLD_DEFAULT, "cuMemAlloc_v2");
  std::mt19937_64 random(1);
  std::vector<Node*> nodes;
  for (std::size_t i = 0; i < kHalf / sizeof(Node); ++i) {
    g_filler = new Node{g_filler, nodes.empty() ? nullptr : nodes[random() % nodes.size()], 0, {}};
    for (unsigned long long& number : g_filler->numbers) number = random();
    nodes.push_back(g_filler);
  }
  for (std::size_t done = 0; done < kHalf; done += kLarge) {
    g_large.push_back(std::make_unique<unsigned long long[]>(kLarge / sizeof(unsigned long long)));
    for (std::size_t i = 0; i < kLarge / sizeof(unsigned long long); ++i)
      g_large.back()[i] = random();
  }
  for (int i = 0; i < kBlocks; ++i) {
    CUdeviceptr device = 0;
    if (allocate(&device, 4096) != CUDA_SUCCESS) return 4;
    if (i < 1000)
      g_array[i] = device;
    else if (i < 5000)
      g_tree[i] = device;
    else if (sparse)
      nodes[random() % nodes.size()]->device = device;
    else
      g_list = new Node{g_list, nullptr, device, {}};
  }
  const auto scan = Find<int (*)()>(RTLD_DEFAULT, "memprof_scan");
  if (scan == nullptr) return 5;
  for (int run = 0; run < 5; ++run) {
    const double cpu = CpuSeconds();
    const auto begin = std::chrono::steady_clock::now();
    const int status = scan();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::printf("scan %d: status %d, %.3f s, %.3f s of CPU time\n", run, status, seconds.count(),
                CpuSeconds() - cpu);
  }
  return 0;
}
