// A guest whose threads continue to allocate while the process ends: exiting HOW COUNTS, where HOW
// is return, exit or quick_exit. All kinds of code that run at that time allocate too. COUNTS is a
// file in which each caller counts its allocations that have returned.
#include "exiting.h"

#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>

namespace {

using namespace exiting;

void Allocate(int caller) {
  void* pointer = nullptr;
  if (cudaMalloc(&pointer, static_cast<std::size_t>(1000 + caller)) != cudaSuccess) std::abort();
  ++g_counts->done[caller];
  if (cudaFree(pointer) != cudaSuccess) std::abort();
}

// With varying depth, so that the recorder must walk stacks.
__attribute__((noinline)) void AllocateDeep(int caller, std::uint64_t depth) {
  if (depth == 0)
    Allocate(caller);
  else
    AllocateDeep(caller, depth - 1);
  asm volatile("");
}

struct AllocatesAtItsEnd {
  int caller;
  bool armed = false;
  ~AllocatesAtItsEnd() {
    if (armed) Allocate(caller);
  }
};
AllocatesAtItsEnd g_static{kStatic};
thread_local AllocatesAtItsEnd t_of_thread{kTlsOfThread};
thread_local AllocatesAtItsEnd t_of_main{kTlsOfMain};

void AtExit() {
  AwaitDaemons();
  Allocate(kAtExit);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 9;
  const std::string how = argv[1];
  const int file = open(argv[2], O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(Counts)) != 0) return 8;
  void* memory = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return 8;
  g_counts = static_cast<Counts*>(memory);
  // Registered before the first CUDA call, so that it runs after handlers registered by that call.
  std::atexit(AtExit);
  std::at_quick_exit(AtExit);
  std::thread([] {
    t_of_thread.armed = true;
    Allocate(kTlsOfThread);
  }).join();
  for (int t = 0; t < kDaemons; ++t)
    std::thread([t] {
      for (std::uint64_t i = 0;; ++i) {
        AllocateDeep(t, i % 30);
        // Lets other threads run on a machine with few cores.
        timespec moment{0, 20'000};
        if (i % 8 == 7) nanosleep(&moment, nullptr);
      }
    }).detach();
  AwaitDaemons();
  g_allocate = Allocate;
  g_static.armed = t_of_main.armed = true;
  std::printf("ends by %s\n", how.c_str());
  std::fflush(stdout);
  if (how == "exit") std::exit(7);
  if (how == "quick_exit") std::quick_exit(7);
  return 7;
}
