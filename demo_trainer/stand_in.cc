// Looks up the stand-in's functions once.
#include "demo_trainer/stand_in.h"

#include <dlfcn.h>

#include "demo_trainer/error.h"

namespace memprof::demo::stand_in {
namespace {

template <typename Function>
Function Lookup(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

bool Present() {
  static const bool present = Lookup<void*>("simcuda_register_host_kernel") != nullptr;
  return present;
}

bool RegisterHostKernel(const void* kernel, simcuda_host_kernel function,
                        std::initializer_list<size_t> sizes) {
  static const auto register_kernel =
      Lookup<decltype(&simcuda_register_host_kernel)>("simcuda_register_host_kernel");
  if (register_kernel == nullptr) return false;
  if (register_kernel(kernel, function, static_cast<int>(sizes.size()), sizes.begin()) != 0) {
    throw Error("the stand-in CUDA refused the host version of a kernel");
  }
  return true;
}

void ParallelFor(size_t count, size_t grain,
                 void (*function)(void* context, size_t begin, size_t end), void* context) {
  static const auto parallel_for = Lookup<decltype(&simcuda_parallel_for)>("simcuda_parallel_for");
  if (parallel_for != nullptr) {
    parallel_for(count, grain, function, context);
  } else if (count > 0) {
    function(context, 0, count);
  }
}

}  // namespace memprof::demo::stand_in
