// The program of the cost benchmark: threads that allocate and free in a loop at a given depth of
// the stack. Prints one line: the cost of one pair in wall time, all threads together, and in CPU
// time of the thread that made it (without threads of a recorder), in ns; and with a given rate the
// maximum delay of a thread behind its schedule, in ms.
//
//   driver  cuMemAlloc and cuMemFree, found as CUDA runtimes find them
//   cudart  cudaMalloc and cudaFree
//   tensor  memprof_tensor_create and memprof_tensor_destroy; nothing if memprof is not preloaded
//   torch   c10::reportMemoryUsageToProfiler for the allocation and the free of a block; nothing if
//           memprof is not preloaded
//   malloc  malloc and free, for comparison with host-memory tools
//
// usage: alloc_pairs driver|cudart|tensor|torch|malloc DEPTH THREADS PAIRS_PER_THREAD [STACKS
// [PAIRS_PER_S]]
#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "libmemprof/include/memprof/memprof.h"

namespace {

// c10::Device.
struct TorchDevice {
  std::int8_t type;
  std::int8_t index;
};

// One pair; false when it failed. `i` is the number of the pair.
using Pair = bool (*)(long i);

// 16 sizes, so that the loop is not one identical event.
std::size_t Bytes(long i) { return 512 + 512 * static_cast<std::size_t>(i & 15); }

struct Functions {
  int (*driver_allocate)(unsigned long long*, std::size_t) = nullptr;
  int (*driver_free)(unsigned long long) = nullptr;
  int (*runtime_allocate)(void**, std::size_t) = nullptr;
  int (*runtime_free)(void*) = nullptr;
  int (*set_current)(void*) = nullptr;
  void* context = nullptr;
  decltype(&memprof_tensor_create) tensor_create = nullptr;
  decltype(&memprof_tensor_destroy) tensor_destroy = nullptr;
  void (*torch_usage)(void*, std::int64_t, std::size_t, std::size_t, TorchDevice) = nullptr;
} g_functions;

bool DriverPair(long i) {
  unsigned long long pointer = 0;
  return g_functions.driver_allocate(&pointer, Bytes(i)) == 0 &&
         g_functions.driver_free(pointer) == 0;
}

bool RuntimePair(long i) {
  void* pointer = nullptr;
  return g_functions.runtime_allocate(&pointer, Bytes(i)) == 0 &&
         g_functions.runtime_free(pointer) == 0;
}

// Through a volatile pointer, or the compiler removes the pair.
bool HostPair(long i) {
  void* volatile pointer = std::malloc(Bytes(i));
  std::free(pointer);
  return true;
}

bool TensorPair(long i) {
  if (g_functions.tensor_create == nullptr) return true;
  thread_local char range[1 << 14];  // an address that only this thread uses
  const std::int64_t shape[] = {static_cast<std::int64_t>(Bytes(i) / 4)};
  return g_functions.tensor_create(0, range, Bytes(i), "activation", "float32", 1, shape) == 0 &&
         g_functions.tensor_destroy(0, range) == 0;
}

// The calls of an allocator that reserves nothing, on a device that only this thread uses.
bool TorchPair(long i) {
  if (g_functions.torch_usage == nullptr) return true;
  static std::atomic<int> threads{0};
  thread_local const TorchDevice device{1, static_cast<std::int8_t>(threads++ % 64)};
  thread_local char range[1 << 14];
  const auto bytes = static_cast<std::int64_t>(Bytes(i));
  g_functions.torch_usage(range, bytes, Bytes(i), 0, device);
  g_functions.torch_usage(range, -bytes, 0, 0, device);
  return true;
}

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

// Opens the driver as a CUDA runtime does, and makes a primary context current.
bool LoadDriver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  int (*ask)(const char*, void**, int, std::uint64_t, void*) = nullptr;
  if (library == nullptr || !Find(library, "cuGetProcAddress_v2", &ask)) return false;
  const auto get = [ask](const char* name, auto* function) {
    void* found = nullptr;
    if (ask(name, &found, 13000, 0, nullptr) != 0) return false;
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(found);
    return found != nullptr;
  };
  int (*init)(unsigned) = nullptr;
  int (*retain)(void**, int) = nullptr;
  return get("cuInit", &init) && get("cuDevicePrimaryCtxRetain", &retain) &&
         get("cuCtxSetCurrent", &g_functions.set_current) &&
         get("cuMemAlloc", &g_functions.driver_allocate) &&
         get("cuMemFree", &g_functions.driver_free) && init(0) == 0 &&
         retain(&g_functions.context, 0) == 0 && g_functions.set_current(g_functions.context) == 0;
}

bool LoadRuntime() {
  for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so"}) {
    void* library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) continue;
    return Find(library, "cudaMalloc", &g_functions.runtime_allocate) &&
           Find(library, "cudaFree", &g_functions.runtime_free);
  }
  return false;
}

// A GPU's driver gives small blocks out of larger memory, which it would otherwise take from the
// device and give back with each pair: 71 instead of 2 us on an H200.
Pair KeepBlock(Pair pair) {
  unsigned long long kept = 0;
  void* memory = nullptr;
  const int error = pair == DriverPair ? g_functions.driver_allocate(&kept, 512)
                                       : g_functions.runtime_allocate(&memory, 512);
  return error == 0 ? pair : nullptr;
}

// The function for one pair of this mode, with the libraries that it needs loaded; null if
// something is missing.
Pair Prepare(const std::string& mode) {
  if (mode == "malloc") return HostPair;
  if (mode == "cudart") return LoadRuntime() ? KeepBlock(RuntimePair) : nullptr;
  if (mode != "driver" && mode != "tensor" && mode != "torch") return nullptr;
  if (!LoadDriver()) return nullptr;
  if (mode == "driver") return KeepBlock(DriverPair);
  // Recording begins with the first call of the driver, which LoadDriver made.
  if (mode == "torch") {
    Find(RTLD_DEFAULT, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
         &g_functions.torch_usage);
    return TorchPair;
  }
  Find(RTLD_DEFAULT, "memprof_tensor_create", &g_functions.tensor_create);
  Find(RTLD_DEFAULT, "memprof_tensor_destroy", &g_functions.tensor_destroy);
  return TensorPair;
}

// True recursion: the use of a volatile local after the call keeps the compiler from turning it
// into a loop. Runs pairs `first` to `end` at the bottom.
[[gnu::noinline]] long Descend(int depth, long first, long end, Pair pair) {
  volatile int here = depth;
  if (depth > 0) return Descend(depth - 1, first, end, pair) + here - depth;
  long failures = 0;
  for (long i = first; i < end; ++i) failures += pair(i) ? 0 : 1;
  return failures;
}

// The same for one pair, by one of many call paths. The two functions differ for the compiler,
// which would otherwise merge them, and do something after their calls, which would otherwise be
// tail calls.
long DescendBy(std::uint64_t way, int depth, long i, Pair pair);
[[gnu::noinline]] long Left(std::uint64_t way, int depth, long i, Pair pair) {
  const long failures = DescendBy(way, depth, i, pair);
  asm volatile("# left");
  return failures;
}
[[gnu::noinline]] long Right(std::uint64_t way, int depth, long i, Pair pair) {
  const long failures = DescendBy(way, depth, i, pair);
  asm volatile("# right");
  return failures;
}

// Each bit of `way` chooses one of the two functions; two frames a level.
[[gnu::noinline]] long DescendBy(std::uint64_t way, int depth, long i, Pair pair) {
  long failures = 0;
  if (depth == 0) {
    failures = pair(i) ? 0 : 1;
  } else if ((way & 1) != 0) {
    failures = Left(way >> 1, depth - 1, i, pair);
  } else {
    failures = Right(way >> 1, depth - 1, i, pair);
  }
  asm volatile("# back");
  return failures;
}

std::int64_t Now(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

// With one stack, the loop runs at the bottom of it; with more, every pair has another call path
// than the pair before.
long Run(int depth, long pairs, long stacks, Pair pair) {
  if (stacks == 1) return Descend(depth, 0, pairs, pair);
  long failures = 0;
  for (long i = 0; i < pairs; ++i) {
    failures += DescendBy(static_cast<std::uint64_t>(i % stacks), depth, i, pair);
  }
  return failures;
}

// At most that many pairs a second: in small groups, with pauses between them. `behind` receives
// the maximum delay of the thread behind its schedule, in ns.
long RunPaced(int depth, long pairs, long stacks, double pairs_per_s, Pair pair,
              std::atomic<std::int64_t>* behind) {
  constexpr long kPortion = 250;
  const std::int64_t begin = Now(CLOCK_MONOTONIC);
  long failures = 0;
  for (long done = 0; done < pairs; done += kPortion) {
    failures += Run(depth, std::min(kPortion, pairs - done), stacks, pair);
    const auto due =
        begin + static_cast<std::int64_t>(static_cast<double>(done + kPortion) / pairs_per_s * 1e9);
    const std::int64_t late = Now(CLOCK_MONOTONIC) - due;
    for (std::int64_t most = behind->load(); late > most;)
      if (behind->compare_exchange_weak(most, late)) break;
    const timespec until{due / 1'000'000'000, due % 1'000'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  }
  return failures;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || argc > 7) {
    std::fprintf(stderr,
                 "usage: alloc_pairs driver|cudart|tensor|torch|malloc DEPTH THREADS PAIRS [STACKS "
                 "[PAIRS_PER_S]]\n");
    return 2;
  }
  const Pair pair = Prepare(argv[1]);
  if (pair == nullptr) {
    std::fprintf(stderr, "alloc_pairs: %s: unknown, or its library was not found\n", argv[1]);
    return 1;
  }
  const int depth = std::atoi(argv[2]);
  const int threads = std::atoi(argv[3]);
  const long pairs = std::atol(argv[4]);
  const long stacks = argc > 5 ? std::atol(argv[5]) : 1;
  const double pairs_per_s =
      argc > 6 ? std::atof(argv[6]) : 0;  // of each thread; 0 = as fast as it can

  std::atomic<long> failures = Run(depth, 1000, stacks, pair);  // fills caches of unwinding
  std::atomic<std::int64_t> thread_cpu{0}, behind{0};
  const std::int64_t begin = Now(CLOCK_MONOTONIC);
  std::vector<std::thread> workers;
  workers.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      if (g_functions.set_current != nullptr) g_functions.set_current(g_functions.context);
      const std::int64_t before = Now(CLOCK_THREAD_CPUTIME_ID);
      failures += pairs_per_s > 0 ? RunPaced(depth, pairs, stacks, pairs_per_s, pair, &behind)
                                  : Run(depth, pairs, stacks, pair);
      thread_cpu += Now(CLOCK_THREAD_CPUTIME_ID) - before;
    });
  }
  for (std::thread& worker : workers) worker.join();
  const std::int64_t wall = Now(CLOCK_MONOTONIC) - begin;
  const double all = static_cast<double>(pairs) * threads;
  std::printf("wall_ns=%.1f thread_ns=%.1f failures=%ld behind_ms=%.3f\n",
              static_cast<double>(wall) / all, static_cast<double>(thread_cpu) / all,
              failures.load(), static_cast<double>(behind) / 1e6);
  return failures == 0 ? 0 : 1;
}
