// The exported dlsym and dlvsym.
//
// libc's dlsym uses its return address to find the caller, which decides what RTLD_NEXT and
// RTLD_DEFAULT mean. So ours must not call the real function but jump to it, whatever the optimiser
// does: hence assembly. Only for names that begin with "cu", on a handle from dlopen, it calls
// SwapByName; the caller does not matter there.
//
// dlvsym is exported for one case only: another interposer of dlsym, loaded before us, that looks
// for the next "dlsym" by dlvsym(RTLD_NEXT). This skips definitions without a version, such as
// ours. It gets ours.
#include "libmemprof/src/arch/dlsym.h"
#include "libmemprof/src/driver/api.h"
#include "libmemprof/src/loader/next_symbol.h"
#include "libmemprof/src/loader/real_dlsym.h"

extern "C" {

__attribute__((visibility("hidden"), used)) void* memprof_dlsym_cuda(void* handle,
                                                                     const char* name) {
  return memprof::recorder::SwapByName(name, memprof::recorder::RealDlsym(handle, name));
}

// Whether dlvsym(RTLD_NEXT, name, ...), called from `caller`, should return our dlsym.
__attribute__((visibility("hidden"), used)) int memprof_is_next_dlsym(const char* name,
                                                                      const void* caller) {
  static constexpr char kName[] = "dlsym";
  for (int i = 0; i < static_cast<int>(sizeof kName); ++i)
    if (name == nullptr || name[i] != kName[i]) return 0;
  return memprof::recorder::Precedes(caller, reinterpret_cast<void*>(&memprof_dlsym_cuda)) ? 1 : 0;
}
}
