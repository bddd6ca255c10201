// Finds memprof's functions with dlsym(RTLD_DEFAULT): present only where libmemprof is preloaded.
#include "demo_trainer/profiler.h"

#include <dlfcn.h>

#include "libmemprof/include/memprof/memprof.h"

namespace memprof::demo::profiler {
namespace {

struct Api {
  decltype(&memprof_step) step;
  decltype(&memprof_snapshot) snapshot;
  decltype(&memprof_range_push) range_push;
  decltype(&memprof_range_pop) range_pop;
  decltype(&memprof_tensor_create) tensor_create;
  decltype(&memprof_tensor_destroy) tensor_destroy;
  decltype(&memprof_segment_create) segment_create;
  decltype(&memprof_segment_destroy) segment_destroy;
  decltype(&memprof_block_create) block_create;
  decltype(&memprof_block_destroy) block_destroy;
  decltype(&memprof_framework_oom) framework_oom;
};

template <typename Function>
void Lookup(const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

const Api& GetApi() {
  static const Api api = [] {
    Api found{};
    Lookup("memprof_step", &found.step);
    Lookup("memprof_snapshot", &found.snapshot);
    Lookup("memprof_range_push", &found.range_push);
    Lookup("memprof_range_pop", &found.range_pop);
    Lookup("memprof_tensor_create", &found.tensor_create);
    Lookup("memprof_tensor_destroy", &found.tensor_destroy);
    Lookup("memprof_segment_create", &found.segment_create);
    Lookup("memprof_segment_destroy", &found.segment_destroy);
    Lookup("memprof_block_create", &found.block_create);
    Lookup("memprof_block_destroy", &found.block_destroy);
    Lookup("memprof_framework_oom", &found.framework_oom);
    return found;
  }();
  return api;
}

}  // namespace

void Step(uint64_t step) {
  if (const auto call = GetApi().step) call(step);
}

void Snapshot(const std::string& label) {
  if (const auto call = GetApi().snapshot) call(label.c_str());
}

void TensorCreate(int device, const void* ptr, size_t bytes, const std::string& name,
                  const char* dtype, const std::vector<int64_t>& shape) {
  if (const auto call = GetApi().tensor_create) {
    call(device, ptr, bytes, name.c_str(), dtype, static_cast<int>(shape.size()), shape.data());
  }
}

void TensorDestroy(int device, const void* ptr) {
  if (const auto call = GetApi().tensor_destroy) call(device, ptr);
}

void SegmentCreate(int device, const void* ptr, size_t bytes, const void* stream) {
  if (const auto call = GetApi().segment_create) call(device, ptr, bytes, stream);
}

void SegmentDestroy(int device, const void* ptr) {
  if (const auto call = GetApi().segment_destroy) call(device, ptr);
}

void BlockCreate(int device, const void* ptr, size_t bytes, size_t requested, const void* stream) {
  if (const auto call = GetApi().block_create) call(device, ptr, bytes, requested, stream);
}

void BlockDestroy(int device, const void* ptr) {
  if (const auto call = GetApi().block_destroy) call(device, ptr);
}

void FrameworkOom(int device, size_t requested, size_t allocated, size_t reserved) {
  if (const auto call = GetApi().framework_oom) call(device, requested, allocated, reserved);
}

Range::Range(const char* name) {
  if (const auto call = GetApi().range_push) call(name);
}

Range::~Range() {
  if (const auto call = GetApi().range_pop) call();
}

}  // namespace memprof::demo::profiler
