// For programs that reach the driver like a CUDA runtime: dlopen, dlsym of cuGetProcAddress, and
// cuGetProcAddress for all other functions. Some names are looked up by dlsym, as other programs
// do.
#pragma once

#define __CUDA_API_VERSION_INTERNAL  // every version under its own name
#include <cuda.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "expected.h"

// The reason why something cannot be tested on this machine.
struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void* Library() {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Skipped("libcuda.so.1 cannot be loaded");
  return library;
}

inline bool IsStandIn() { return dlsym(Library(), "simcuda_get_memory") != nullptr; }

inline void* FoundOrSkipped(const char* name, void* found) {
  if (found == nullptr) throw Skipped(std::string("this driver has no ") + name);
  return found;
}

inline void* Exported(const char* name) { return FoundOrSkipped(name, dlsym(Library(), name)); }

// The signature of cuGetProcAddress_v2, which CUDA 11 headers lack. Null in programs that look all
// names up by dlsym.
inline CUresult (*g_find)(const char*, void**, int, cuuint64_t, void*) = nullptr;

constexpr cuuint64_t kPerThread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

inline void* FindByAddress(const char* name, const char* base, int version, cuuint64_t flags) {
  if (g_find == nullptr) return Exported(name);
  void* found = nullptr;
  g_find(base, &found, version, flags, nullptr);
  return FoundOrSkipped(base, found);
}

// The name of the function that was called last.
inline const char* g_called = "";

// A function with the name that it has in the log; it is called like the function itself.
template <typename Function>
struct Found {
  Function* call;
  const char* name;
  operator Function*() const {
    g_called = name;
    return call;
  }
};
template <typename Function>
Found<Function> Named(const char* name, void* address) {
  return {reinterpret_cast<Function*>(address), name};
}
// The function `name`, as returned by cuGetProcAddress for a base name and a version.
#define PROC(name, base, version) \
  Named<decltype(name)>(#name, FindByAddress(#name, base, version, 0))
#define PROC_PER_THREAD(name, base, version) \
  Named<decltype(name)>(#name "_ptsz", FindByAddress(#name "_ptsz", base, version, kPerThread))
// The exported function `name`, with the signature of `like`.
#define SYMBOL_LIKE(like, name) Named<decltype(like)>(name, Exported(name))
#define SYMBOL(name) SYMBOL_LIKE(name, #name)

// A separate function, so that callers need no clean-up: one of the tests cancels their threads
// between any two instructions.
[[noreturn, gnu::noinline]] inline void Fail(CUresult result, const char* name) {
  const std::string text = name, number = std::to_string(result);
  if (result == CUDA_ERROR_NOT_SUPPORTED || result == CUDA_ERROR_NOT_PERMITTED)
    throw Skipped(text + " is not supported here: " + number);
  // Memory or a device that belongs to another process (compute mode EXCLUSIVE_PROCESS).
  if (result == CUDA_ERROR_OUT_OF_MEMORY) throw Skipped(text + ": not enough memory is free");
  if (result == CUDA_ERROR_DEVICE_UNAVAILABLE)
    throw Skipped(text + ": the device serves another process alone");
  throw std::runtime_error(text + " returned " + number);
}
inline void Check(CUresult result, const char* name) {
  if (result != CUDA_SUCCESS) Fail(result, name);
}
inline void CheckCall(CUresult result, CUresult expected = CUDA_SUCCESS) {
  if (result != expected) Fail(result, g_called);
}
#define MUST(call) (g_line = __LINE__, CheckCall(call))
#define MUST_FAIL(expected, call) (g_line = __LINE__, CheckCall(call, expected))
// CALL(cuMemAlloc_v2, &pointer, bytes): names with their version, as the driver exports them.
#define CALL(name, ...) MUST(SYMBOL(name)(__VA_ARGS__))

template <typename Address, typename... Others>
Address FirstOf(CUresult (*)(Address*, Others...));

// These call a function, and print the event. They must be on one line each, which is the one that
// the log has.
//
// MAKE(op, function, layer, device, bytes, ...): the function's first argument receives an address
// or a handle, which is returned; "..." are the others.
#define MAKE(op, function, layer, device, bytes, ...)    \
  [&] {                                                  \
    const auto making = function;                        \
    decltype(FirstOf(making.call)) made{};               \
    MUST(making(&made, __VA_ARGS__));                    \
    Expect(op, layer, device, made, bytes, making.name); \
    return made;                                         \
  }()
#define TAKE(function, ...) MAKE("alloc", function, __VA_ARGS__)
// ON(op, function, layer, device, bytes, address, ...): the address is the first argument.
#define ON(op, function, layer, device, bytes, address, ...) \
  do {                                                       \
    const auto calling = function;                           \
    MUST(calling(address __VA_OPT__(, ) __VA_ARGS__));       \
    Expect(op, layer, device, address, bytes, calling.name); \
  } while (false)
#define GIVE(function, ...) ON("free", function, __VA_ARGS__)

// Opens the driver and initialises it.
inline void OpenDriver() {
  g_find = reinterpret_cast<decltype(g_find)>(Exported("cuGetProcAddress_v2"));
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
