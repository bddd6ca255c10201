// For guests that reach the driver like a CUDA runtime: dlopen, dlsym of cuGetProcAddress, and
// cuGetProcAddress for all other functions. Some names are looked up by dlsym, as other programs
// do.
#pragma once

#define __CUDA_API_VERSION_INTERNAL  // every version under its own name
#include <cuda.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "expected.h"

inline void* g_library = nullptr;
// The signature of cuGetProcAddress_v2, which CUDA 11 headers lack.
inline CUresult (*g_find)(const char*, void**, int, cuuint64_t, void*) = nullptr;

constexpr cuuint64_t kPerThread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

// Ends the guest if a call fails.
inline void Check(CUresult result, const char* what, int line, CUresult expected = CUDA_SUCCESS) {
  g_line = line;
  if (result == expected) return;
  std::fprintf(stderr, "line %d: %s: %d\n", line, what, static_cast<int>(result));
  std::_Exit(3);
}
#define MUST(call) Check((call), #call, __LINE__)
#define MUST_FAIL(expected, call) Check((call), #call, __LINE__, expected)
#define MUST_HOLD(condition) \
  Check((condition) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN, #condition, __LINE__)

inline void* FoundOrEnd(const char* name, void* found) {
  if (found != nullptr) return found;
  std::fprintf(stderr, "no %s\n", name);
  std::_Exit(4);
}

inline void* FindByAddress(const char* base, int version, cuuint64_t flags) {
  void* found = nullptr;
  g_find(base, &found, version, flags, nullptr);
  return FoundOrEnd(base, found);
}

// The function `name`, as returned by cuGetProcAddress for a base name and a version.
#define PROC(name, base, version) reinterpret_cast<decltype(&name)>(FindByAddress(base, version, 0))
#define PROC_PER_THREAD(name, base, version) \
  reinterpret_cast<decltype(&name)>(FindByAddress(base, version, kPerThread))
// The exported function `name`, with the signature of `like`.
#define SYMBOL_LIKE(like, name) \
  reinterpret_cast<decltype(&like)>(FoundOrEnd(name, dlsym(g_library, name)))
#define SYMBOL(name) SYMBOL_LIKE(name, #name)

// Opens the driver and initialises it.
inline void OpenDriver() {
  g_library = dlopen("libcuda.so.1", RTLD_NOW);
  if (g_library == nullptr) std::_Exit(4);
  g_find = reinterpret_cast<decltype(g_find)>(dlsym(g_library, "cuGetProcAddress_v2"));
  if (g_find == nullptr) std::_Exit(4);
  MUST(PROC(cuInit, "cuInit", 2000)(0));
}

// The primary context of a device, retained and current.
inline CUcontext UsePrimary(CUdevice device = 0) {
  CUcontext context = nullptr;
  const auto retain = PROC(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000);
  MUST(retain(&context, device));
  Expect("context_create", "none", device, 0, 0, "cuDevicePrimaryCtxRetain");
  MUST(PROC(cuCtxSetCurrent, "cuCtxSetCurrent", 4000)(context));
  return context;
}

// The failing call makes the recorder sample the device's memory. Guests do this at their end.
inline void AskForTooMuch(int device = 0) {
  const auto allocate = PROC(cuMemAlloc_v2, "cuMemAlloc", 3020);
  CUdeviceptr nothing = 0;
  constexpr std::size_t kTooMuch = std::size_t{1} << 50;
  MUST_FAIL(CUDA_ERROR_OUT_OF_MEMORY, allocate(&nothing, kTooMuch));
  Expect("alloc_failed", "linear", device, 0, kTooMuch, "cuMemAlloc_v2");
}

// The scenarios that the guest's first argument selects from.
struct Scenario {
  const char* name;
  void (*run)();
};
template <std::size_t kCount>
int RunScenario(const Scenario (&scenarios)[kCount], int argc, char** argv) {
  for (const Scenario& scenario : scenarios) {
    if (argc < 2 || std::strcmp(argv[1], scenario.name) != 0) continue;
    OpenDriver();
    scenario.run();
    return 0;
  }
  return 2;
}
