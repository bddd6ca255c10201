// Finds the real dlsym and dlvsym without calling either.
#include "libmemprof/src/loader/real_dlsym.h"

#include <dlfcn.h>

#include "libmemprof/src/loader/next_symbol.h"

// Read by the assembly of exports/dl.cc as well. Hidden, so that they are addressed directly.
extern "C" {
__attribute__((visibility("hidden"))) void* memprof_real_dlsym = nullptr;
__attribute__((visibility("hidden"))) void* memprof_real_dlvsym = nullptr;
__attribute__((visibility("hidden"))) void* memprof_find_real_dlsym();
__attribute__((visibility("hidden"))) void* memprof_find_real_dlvsym();
}

namespace {

void* NoDlsym(void*, const char*) { return nullptr; }
void* NoDlvsym(void*, const char*, const char*) { return nullptr; }

}  // namespace

void* memprof_find_real_dlsym() {
  void* found = memprof::recorder::NextDefinition("dlsym");
  if (found == nullptr) found = memprof::recorder::FirstDefinition("dlsym");
  if (found == nullptr) found = reinterpret_cast<void*>(&NoDlsym);
  __atomic_store_n(&memprof_real_dlsym, found, __ATOMIC_RELEASE);
  return found;
}

void* memprof_find_real_dlvsym() {
  void* found = memprof::recorder::NextDefinition("dlvsym");
  if (found == nullptr) found = memprof::recorder::FirstDefinition("dlvsym");
  if (found == nullptr) found = reinterpret_cast<void*>(&NoDlvsym);
  __atomic_store_n(&memprof_real_dlvsym, found, __ATOMIC_RELEASE);
  return found;
}

namespace memprof::recorder {

void* RealDlsym(void* handle, const char* name) {
  void* real = __atomic_load_n(&memprof_real_dlsym, __ATOMIC_ACQUIRE);
  if (real == nullptr) real = memprof_find_real_dlsym();
  return reinterpret_cast<void* (*)(void*, const char*)>(real)(handle, name);
}

void* RealDlvsym(void* handle, const char* name, const char* version) {
  void* real = __atomic_load_n(&memprof_real_dlvsym, __ATOMIC_ACQUIRE);
  if (real == nullptr) real = memprof_find_real_dlvsym();
  return reinterpret_cast<void* (*)(void*, const char*, const char*)>(real)(handle, name, version);
}

}  // namespace memprof::recorder
