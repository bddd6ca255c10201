// Shared by the guests of scripts/gpu-check: the driver, found as CUDA runtimes find it; marks in
// memprof's log if there is one; and results as one JSON object.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace memprof::gpu_check {

// The reason why a family cannot be tested on this machine.
struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void* Library() {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Skipped("libcuda.so.1 cannot be loaded");
  return library;
}

inline bool IsStandIn() { return dlsym(Library(), "simcuda_get_memory") != nullptr; }

// A function of the driver; throws if the driver does not have it.
template <typename Function>
Function Find(const char* name) {
  void* const found = dlsym(Library(), name);
  if (found == nullptr) throw Skipped(std::string("this driver has no ") + name);
  return reinterpret_cast<Function>(found);
}

inline void Check(CUresult result, const char* name) {
  if (result == CUDA_SUCCESS) return;
  if (result == CUDA_ERROR_NOT_SUPPORTED || result == CUDA_ERROR_NOT_PERMITTED)
    throw Skipped(std::string(name) + " is not supported here: " + std::to_string(result));
  // Memory or a device that belongs to another process (compute mode EXCLUSIVE_PROCESS).
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    throw Skipped(std::string(name) + ": not enough memory is free");
  if (result == CUDA_ERROR_DEVICE_UNAVAILABLE)
    throw Skipped(std::string(name) + ": the device serves another process alone");
  throw std::runtime_error(std::string(name) + " returned " + std::to_string(result));
}

// CALL(cuMemAlloc_v2, &pointer, bytes): names with their version, as the driver exports them.
#define CALL(name, ...)                                                                        \
  ::memprof::gpu_check::Check(::memprof::gpu_check::Find<decltype(&name)>(#name)(__VA_ARGS__), \
                              #name)

inline void Mark(const char* label) {
  static const auto snapshot =
      reinterpret_cast<int (*)(const char*)>(dlsym(RTLD_DEFAULT, "memprof_snapshot"));
  if (snapshot != nullptr) snapshot(label);
}

inline CUcontext UsePrimaryContext() {
  CUcontext context = nullptr;
  CALL(cuInit, 0);
  CALL(cuDevicePrimaryCtxRetain, &context, 0);
  CALL(cuCtxSetCurrent, context);
  return context;
}

inline std::uint64_t FreeBytes() {
  std::size_t free_bytes = 0, total = 0;
  CALL(cuCtxSynchronize);
  CALL(cuMemGetInfo_v2, &free_bytes, &total);
  return free_bytes;
}

// Texts that need no escaping: names and numbers.
inline std::string Quote(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' || c == '\\' || c < ' ' ? '\'' : c;
  return quoted + "\"";
}

// Prints the result of `describe` as a JSON object, or the reason why there is none.
template <typename Describe>
int Answer(const Describe& describe) {
  try {
    std::printf("{%s}\n", std::string(describe()).c_str());
  } catch (const Skipped& reason) {
    std::printf("{\"skipped\":%s}\n", Quote(reason.what()).c_str());
  } catch (const std::exception& error) {
    std::printf("{\"failed\":%s}\n", Quote(error.what()).c_str());
  }
  return 0;
}

}  // namespace memprof::gpu_check
