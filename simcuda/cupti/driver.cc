// Finds the stand-in libcuda.
#include "simcuda/cupti/driver.h"

#include <dlfcn.h>

#include <mutex>

namespace memprof::simcuda_cupti {
namespace {

template <typename Function>
bool LookUp(void* handle, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(handle, name));
  return *function != nullptr;
}

bool Load(Driver* driver) {
  void* handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return false;
  if (!LookUp(handle, "simcuda_set_listener", &driver->set_listener) ||
      !LookUp(handle, "simcuda_enable_api", &driver->enable_api) ||
      !LookUp(handle, "simcuda_enable_resources", &driver->enable_resources) ||
      !LookUp(handle, "simcuda_api_name", &driver->api_name)) {
    return false;
  }
  LookUp(handle, "cuCtxGetId", &driver->context_id);
  LookUp(handle, "cuStreamGetId", &driver->stream_id);
  LookUp(handle, "cuStreamGetId_ptsz", &driver->stream_id_per_thread);
  LookUp(handle, "cuCtxGetDevice", &driver->device_of_current_context);
  LookUp(handle, "cuCtxPushCurrent_v2", &driver->push_context);
  LookUp(handle, "cuCtxPopCurrent_v2", &driver->pop_context);
  return true;
}

}  // namespace

const Driver* FindDriver() {
  static std::mutex* mutex = new std::mutex;
  static Driver driver;
  static bool found = false;
  const std::lock_guard lock(*mutex);
  if (!found) found = Load(&driver);
  return found ? &driver : nullptr;
}

}  // namespace memprof::simcuda_cupti
