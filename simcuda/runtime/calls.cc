// Loads the driver.
#include "simcuda/runtime/calls.h"

#include <dlfcn.h>

namespace memprof::simcuda::runtime {
namespace {

constexpr int kInsufficientDriver = 35;  // cudaErrorInsufficientDriver

// Gets one function from the driver; false if it has none.
template <class Pointer>
bool Ask(const DriverLibrary& library, decltype(&::cuGetProcAddress) old, const char* base,
         int version, cuuint64_t flags, Pointer* function) {
  void* address = nullptr;
  CUresult result = CUDA_ERROR_NOT_FOUND;
  if (library.get_proc_address != nullptr) {
    result = library.get_proc_address(base, &address, version, flags, nullptr);
  } else {
    result = old(base, &address, version, flags);
  }
  *function = reinterpret_cast<Pointer>(address);
  return result == CUDA_SUCCESS && address != nullptr;
}

bool FillCalls(const DriverLibrary& library, decltype(&::cuGetProcAddress) old, cuuint64_t flags,
               Calls* calls) {
  bool all = true;
#define SIMCUDA_RUNTIME_ASK(name, base, version) \
  all = Ask(library, old, #base, version, flags, &calls->name) && all;
  SIMCUDA_RUNTIME_CALLS(SIMCUDA_RUNTIME_ASK)
#undef SIMCUDA_RUNTIME_ASK
#define SIMCUDA_RUNTIME_ASK(name, base, version) \
  Ask(library, old, #base, version, flags, &calls->name);
  SIMCUDA_RUNTIME_OPTIONAL_CALLS(SIMCUDA_RUNTIME_ASK)
#undef SIMCUDA_RUNTIME_ASK
  return all;
}

DriverLibrary* Load() {
  auto* library = new DriverLibrary;
  library->status = kInsufficientDriver;
  void* handle = dlopen("libcuda.so.1", RTLD_NOW);
  if (handle == nullptr) return library;
  library->get_proc_address =
      reinterpret_cast<decltype(&::cuGetProcAddress_v2)>(dlsym(handle, "cuGetProcAddress_v2"));
  decltype(&::cuGetProcAddress) old = nullptr;
  if (library->get_proc_address == nullptr) {
    old = reinterpret_cast<decltype(&::cuGetProcAddress)>(dlsym(handle, "cuGetProcAddress"));
    if (old == nullptr) return library;
  }
  if (!FillCalls(*library, old, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &library->legacy) ||
      !FillCalls(*library, old, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
                 &library->per_thread)) {
    return library;
  }
  library->set_host_kernel = reinterpret_cast<decltype(library->set_host_kernel)>(
      dlsym(handle, "simcuda_set_host_kernel"));
  library->define_global =
      reinterpret_cast<decltype(library->define_global)>(dlsym(handle, "simcuda_define_global"));
  library->status = static_cast<int>(library->legacy.cuInit(0));
  return library;
}

}  // namespace

const DriverLibrary& Library() {
  static const DriverLibrary* library = Load();
  return *library;
}

}  // namespace memprof::simcuda::runtime
