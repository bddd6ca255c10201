// Guest of the log-size and writer-rate benchmarks: threads that allocate and free at random, up to
// a few hundred blocks at a time, reached by many ways through the program. The worst case for a
// log: no step, no pattern in sizes, addresses or lifetimes. Prints one line: the calls made and
// the time that they took.
#include <dlfcn.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

namespace {

constexpr std::size_t kMostBlocks = 256;
constexpr int kDepth = 12;  // of the ways: 4,096 of them

int (*g_set_current)(void*) = nullptr;
int (*g_allocate)(unsigned long long*, std::size_t) = nullptr;
int (*g_free)(unsigned long long) = nullptr;
void* g_context = nullptr;

// Opens the driver as a CUDA runtime does, and makes a primary context.
bool LoadDriver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  const auto ask = reinterpret_cast<int (*)(const char*, void**, int, std::uint64_t, void*)>(
      dlsym(library, "cuGetProcAddress_v2"));
  if (ask == nullptr) return false;
  const auto get = [ask](const char* name, auto* function) {
    void* found = nullptr;
    if (ask(name, &found, 13000, 0, nullptr) != 0) return false;
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(found);
    return found != nullptr;
  };
  int (*init)(unsigned) = nullptr;
  int (*retain)(void**, int) = nullptr;
  return get("cuInit", &init) && get("cuDevicePrimaryCtxRetain", &retain) &&
         get("cuCtxSetCurrent", &g_set_current) && get("cuMemAlloc", &g_allocate) &&
         get("cuMemFree", &g_free) && init(0) == 0 && retain(&g_context, 0) == 0;
}

struct Walk {
  std::mt19937_64 random;
  std::vector<unsigned long long> live;
  bool failed = false;

  void Call() {
    if (live.empty() || (live.size() < kMostBlocks && random() % 2 == 0)) {
      // Sizes of every magnitude up to 256 KiB.
      const std::size_t bytes = 1 + (random() & ((std::uint64_t{2} << random() % 18) - 1));
      unsigned long long pointer = 0;
      failed |= g_allocate(&pointer, bytes) != 0;
      live.push_back(pointer);
    } else {
      const std::size_t which = random() % live.size();
      failed |= g_free(live[which]) != 0;
      live[which] = live.back();
      live.pop_back();
    }
  }
};

void Descend(std::uint64_t way, int depth, Walk* walk);

// Two functions that differ for the compiler, which would fold them otherwise, and that have
// something to do after their calls, which would be jumps otherwise.
[[gnu::noinline]] void Left(std::uint64_t way, int depth, Walk* walk) {
  Descend(way, depth, walk);
  asm volatile("# left");
}
[[gnu::noinline]] void Right(std::uint64_t way, int depth, Walk* walk) {
  Descend(way, depth, walk);
  asm volatile("# right");
}

// Each bit of `way` chooses the way on.
[[gnu::noinline]] void Descend(std::uint64_t way, int depth, Walk* walk) {
  if (depth == 0) {
    walk->Call();
  } else if ((way & 1) != 0) {
    Left(way >> 1, depth - 1, walk);
  } else {
    Right(way >> 1, depth - 1, walk);
  }
  asm volatile("# back");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: random_traffic THREADS CALLS STACKS SEED\n");
    return 2;
  }
  const int threads = std::atoi(argv[1]);
  const long calls = std::atol(argv[2]);
  const auto stacks = static_cast<std::uint64_t>(std::atol(argv[3]));
  const auto seed = static_cast<std::uint64_t>(std::atol(argv[4]));
  if (threads < 1 || stacks < 1 || !LoadDriver()) {
    std::fprintf(stderr, "random_traffic: bad arguments, or no usable libcuda.so.1\n");
    return 1;
  }
  timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  std::atomic<bool> failed{false};
  std::vector<std::thread> workers;
  workers.reserve(static_cast<std::size_t>(threads));
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([=, &failed] {
      Walk walk{std::mt19937_64(seed * 1000 + static_cast<unsigned>(t)),
                {},
                g_set_current(g_context) != 0};
      for (long i = 0; i < calls; ++i) Descend(walk.random() % stacks, kDepth, &walk);
      if (walk.failed) failed = true;
    });
  }
  for (std::thread& worker : workers) worker.join();
  clock_gettime(CLOCK_MONOTONIC, &end);
  const double seconds = static_cast<double>(end.tv_sec - begin.tv_sec) +
                         static_cast<double>(end.tv_nsec - begin.tv_nsec) * 1e-9;
  std::printf("calls=%ld seconds=%.6f\n", calls * threads, seconds);
  return failed ? 1 : 0;
}
