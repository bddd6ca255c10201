// Initialisation and end of the driver, and profilers.
#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "driver_api.h"
#include "simcuda/common/config.h"
#include "simcuda/driver/api_call.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"

namespace memprof::simcuda {
namespace {

// Work in flight may use what the end of the process destroys, so it is waited for. Work that does
// not end is cut off. A forked child does not wait.
void AtExit() {
  if (!IsInitialised()) return;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  const auto busy = [](Context& context) { return !context.Idle(); };
  while (!AllHandles<Context>().Select(busy).empty()) {
    if (std::chrono::steady_clock::now() > deadline) {
      SetDeinitialised();
      StopWorkers();
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Once, as the real driver: this is how tools are loaded into programs.
void LoadInjection() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || *path == '\0') return;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  if (void* entry = dlsym(library, "InitializeInjection")) reinterpret_cast<int (*)()>(entry)();
}

}  // namespace

namespace api {

CUresult cuInit(unsigned int Flags) {
  if (Flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (!IsUsable()) return CUDA_ERROR_NOT_INITIALIZED;
  if (Devices().empty()) return CUDA_ERROR_NO_DEVICE;
  static const bool registered = [] { return std::atexit(&AtExit) == 0; }();
  static_cast<void>(registered);
  SetInitialised();
  static std::once_flag injected;
  std::call_once(injected, LoadInjection);
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* driverVersion) {
  if (driverVersion == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *driverVersion = GlobalConfig(false).driver_version;
  return CUDA_SUCCESS;
}

CUresult cuProfilerStart() { return CUDA_SUCCESS; }
CUresult cuProfilerStop() { return CUDA_SUCCESS; }

}  // namespace api
}  // namespace memprof::simcuda
