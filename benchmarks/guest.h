// Shared by the programs that benchmarks record: they open the driver as a CUDA runtime does, and
// use many call paths, so that their allocations have many call stacks.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <type_traits>

namespace guest {

inline int (*g_set_current)(void*) = nullptr;
inline int (*g_allocate)(unsigned long long*, std::size_t) = nullptr;
inline int (*g_free)(unsigned long long) = nullptr;
inline void* g_context = nullptr;

// Opens the driver and makes a primary context.
inline bool LoadDriver() {
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

constexpr int kDepth = 12;  // of the call paths: 4,096 of them

template <typename Call>
void Descend(std::uint64_t way, int depth, const Call& call);

// Two functions that differ for the compiler, which would otherwise merge them, and that do
// something after their calls, which would otherwise be tail calls.
template <typename Call>
[[gnu::noinline]] void Left(std::uint64_t way, int depth, const Call& call) {
  Descend(way, depth, call);
  asm volatile("# left");
}
template <typename Call>
[[gnu::noinline]] void Right(std::uint64_t way, int depth, const Call& call) {
  Descend(way, depth, call);
  asm volatile("# right");
}

// Each bit of `way` chooses one of two functions on the path to `call`.
template <typename Call>
[[gnu::noinline]] void Descend(std::uint64_t way, int depth, const Call& call) {
  if (depth == 0) {
    call();
  } else if ((way & 1) != 0) {
    Left(way >> 1, depth - 1, call);
  } else {
    Right(way >> 1, depth - 1, call);
  }
  asm volatile("# back");
}

}  // namespace guest
