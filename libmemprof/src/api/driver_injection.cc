// The entry point for the driver, where preloading is impossible.
#include <dlfcn.h>
#include <stdlib.h>

#include "libmemprof/include/memprof/memprof.h"
#include "libmemprof/src/lifecycle/lifecycle.h"
#include "libmemprof/src/lifecycle/signal_switch.h"
#include "libmemprof/src/lifecycle/start.h"
#include "libmemprof/src/loader/real_dlsym.h"

namespace memprof::recorder {
namespace {

// Whether the program's driver calls may pass through this library: it was preloaded or linked, and
// not only loaded by the driver.
bool IsInGlobalScope() {
  void* program = dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD);
  if (program == nullptr) return false;
  const bool found = RealDlsym(program, "memprof_start") == reinterpret_cast<void*>(&memprof_start);
  dlclose(program);
  return found;
}

}  // namespace
}  // namespace memprof::recorder

// The driver calls this during cuInit, if CUDA_INJECTION64_PATH names this library. Returns 1 for
// success.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  using namespace memprof::recorder;
  if (!IsInGlobalScope()) {
    NoteInjectedOnly();
    InstallSignalSwitch(getenv("MEMPROF_SIGNAL"));
    if (StartRecording(StartCause::kInit) != MEMPROF_OK) AwaitSignal();
  }
  return 1;
}
