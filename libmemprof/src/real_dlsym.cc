// Finds the real dlsym without calling dlsym.
#include "libmemprof/src/real_dlsym.h"

#include <dlfcn.h>

// Read by the assembly of dl_hooks.cc as well. Hidden, so that it is addressed directly.
extern "C" {
__attribute__((visibility("hidden"))) void* memprof_real_dlsym = nullptr;
__attribute__((visibility("hidden"))) void* memprof_find_real_dlsym();
}

namespace {

void* NoDlsym(void*, const char*) { return nullptr; }

}  // namespace

// The base version of the symbol has stayed in glibc through the merge of libdl into libc (2.34).
void* memprof_find_real_dlsym() {
  void* found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  if (found == nullptr) found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  if (found == nullptr) found = reinterpret_cast<void*>(&NoDlsym);
  __atomic_store_n(&memprof_real_dlsym, found, __ATOMIC_RELEASE);
  return found;
}

namespace memprof::recorder {

void* RealDlsym(void* handle, const char* name) {
  void* real = __atomic_load_n(&memprof_real_dlsym, __ATOMIC_ACQUIRE);
  if (real == nullptr) real = memprof_find_real_dlsym();
  return reinterpret_cast<void* (*)(void*, const char*)>(real)(handle, name);
}

}  // namespace memprof::recorder
