// Guest of the cost benchmark: threads that allocate and free in a loop at a given stack depth, and
// print nanoseconds per pair. `cuda` mode calls cudaMalloc/cudaFree of whatever CUDA runtime the
// loader finds; `malloc` mode does the same over malloc, for comparison with host-memory tools.
//
// usage: alloc_pairs cuda|malloc DEPTH THREADS PAIRS
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

using AllocateFunction = int (*)(void**, std::size_t);
using FreeFunction = int (*)(void*);

AllocateFunction allocate;
FreeFunction release;

int HostAllocate(void** pointer, std::size_t bytes) {
  *pointer = std::malloc(bytes);
  return *pointer == nullptr;
}

int HostFree(void* pointer) {
  std::free(pointer);
  return 0;
}

// True recursion: the address taken of a local and the use of the result after the call keep the
// compiler from turning it into a loop.
[[gnu::noinline]] long Descend(int depth, long pairs) {
  volatile int here = depth;
  if (depth > 0) return Descend(depth - 1, pairs) + here - depth;
  long failures = 0;
  for (long i = 0; i < pairs; ++i) {
    void* pointer = nullptr;
    // 16 sizes, so that the loop is not one identical event.
    if (allocate(&pointer, 512 + 512 * static_cast<std::size_t>(i & 15)) != 0) ++failures;
    release(pointer);
  }
  return failures;
}

bool LoadCuda() {
  void* library = nullptr;
  for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so"}) {
    library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (library != nullptr) break;
  }
  if (library == nullptr) return false;
  allocate = reinterpret_cast<AllocateFunction>(dlsym(library, "cudaMalloc"));
  release = reinterpret_cast<FreeFunction>(dlsym(library, "cudaFree"));
  return allocate != nullptr && release != nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: alloc_pairs cuda|malloc DEPTH THREADS PAIRS\n");
    return 2;
  }
  if (std::strcmp(argv[1], "cuda") == 0) {
    if (!LoadCuda()) {
      std::fprintf(stderr, "alloc_pairs: no CUDA runtime found\n");
      return 1;
    }
  } else {
    allocate = HostAllocate;
    release = HostFree;
  }
  const int depth = std::atoi(argv[2]);
  const int threads = std::atoi(argv[3]);
  const long pairs = std::atol(argv[4]);

  Descend(depth, 1000);  // context, unwinder caches, first stacks
  std::atomic<long> failures{0};
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i)
    workers.emplace_back([&] { failures += Descend(depth, pairs); });
  for (std::thread& worker : workers) worker.join();
  const auto end = std::chrono::steady_clock::now();
  // Wall time per pair of one thread: constant when threads do not hinder each other and each
  // has a core of its own.
  std::printf("%.1f\n", std::chrono::duration<double, std::nano>(end - begin).count() /
                            static_cast<double>(pairs));
  return failures == 0 ? 0 : 1;
}
