// A libcuda that tests control: every function that memprof intercepts exists under its exported
// name, records its call, and returns what was set here. It allocates nothing: addresses and
// handles are numbers.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace memprof::testing {

struct DriverCall {
  std::string name;
  std::vector<std::uint64_t> arguments;  // pointers and handles as numbers, structures as 0
};

struct FakeDriver {
  // The result of intercepted functions; called before their outputs are set.
  std::function<CUresult(const DriverCall&)> decide = [](const DriverCall&) {
    return CUDA_SUCCESS;
  };
  std::vector<DriverCall> calls;  // of intercepted functions

  // The next address or handle that a call returns; then increases to the next multiple of 16 MiB.
  std::uint64_t next = 0x7f0000000000;
  std::uint32_t next32 = 0x100000;
  std::uint64_t pitch_alignment = 512;
  void* proc_address = nullptr;  // the result of cuGetProcAddress

  CUcontext current = nullptr;
  int device = 0;  // of the current context
  CUcontext primary[2] = {reinterpret_cast<CUcontext>(0xa0), reinterpret_cast<CUcontext>(0xa1)};
  bool primary_active = true;
  bool capturing = false;
  CUstream capturing_stream = nullptr;  // the only stream that is capturing; null = all are
  std::uint64_t captured_graph = 0x9a0;
  std::uint64_t graph_reserved = 32 << 20, graph_used = 2 << 20;
  std::uint64_t range_bytes = 640;  // size of variables, mapped resources, and ranges of addresses
  std::uint64_t pool[2] = {0xb00, 0xb10};  // current pool of each device
  std::uint64_t default_pool[2] = {0xb00, 0xb10};
  std::uint64_t pool_reserved = 64 << 20, pool_used = 1 << 20;
  std::uint64_t free_bytes = 7ull << 30, total_bytes = 8ull << 30;
  // The first fields of CUeglFrame: three planes; width, height, depth, pitch, planes, channels;
  // type.
  struct {
    std::uint64_t planes[3] = {0x7e0000000000, 0x7e0001000000, 0};
    unsigned numbers[6] = {64, 16, 1, 256, 2, 1};
    int is_pitched = 1;
  } egl_frame;
  // returned for any array
  CUDA_ARRAY3D_DESCRIPTOR array{16, 16, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, 0};
  std::map<std::uint64_t, int> device_of;  // the devices that cuPointerGetAttribute returns
  std::set<std::uint64_t> host_memory;     // pool memory that is reported as host memory
};

}  // namespace memprof::testing
