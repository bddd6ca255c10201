// A foreign preload library that interposes dlsym as well and counts what passes through it.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

namespace {
int g_calls = 0;
#if defined(__x86_64__)
constexpr char kFirstVersion[] = "GLIBC_2.2.5";
#else
constexpr char kFirstVersion[] = "GLIBC_2.17";
#endif
using Dlsym = void* (*)(void*, const char*);
}  // namespace

extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle,
                                                              const char* name) noexcept {
  static Dlsym real = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", kFirstVersion));
  if (std::strncmp(name, "cu", 2) == 0) ++g_calls;
  return real(handle, name);
}

__attribute__((destructor)) static void Report() {
  if (g_calls > 0) std::fprintf(stderr, "other hook saw %s\n", "calls");
}
