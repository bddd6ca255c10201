// SONAMEs and symbol versions are those of the real libraries.
#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>

#include <string>

#include "tests/support/paths.h"

namespace memprof::simcuda {
namespace {

void* Open(const std::string& library) {
  return dlopen((std::string(paths::kSimcudaLibraries) + "/" + library).c_str(),
                RTLD_NOW | RTLD_LOCAL);
}

std::string Soname(void* handle) {
  link_map* map = nullptr;
  EXPECT_EQ(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
  const char* strings = nullptr;
  ElfW(Xword) offset = 0;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SONAME) offset = entry->d_un.d_val;
  }
  return strings + offset;
}

TEST(Exports, TheDriversNamesHaveNoVersion) {
  void* handle = Open("libcuda.so.1");
  ASSERT_NE(handle, nullptr) << dlerror();
  EXPECT_EQ(Soname(handle), "libcuda.so.1");
  // One with code, and one that is not supported.
  for (const char* name : {"cuMemAlloc_v2", "cuTexRefCreate"}) {
    EXPECT_NE(dlsym(handle, name), nullptr) << name;
    EXPECT_EQ(dlvsym(handle, name, "libcuda.so.1"), nullptr) << name;
  }
  for (const char* name : {"simcuda_get_memory", "simcuda_set_listener", "simcuda_enable_api",
                           "simcuda_enable_resources", "simcuda_api_name"}) {
    EXPECT_NE(dlsym(handle, name), nullptr) << name;
  }
}

void CheckRuntime(const std::string& library) {
  void* handle = Open(library);
  ASSERT_NE(handle, nullptr) << dlerror();
  EXPECT_EQ(Soname(handle), library);
  for (const char* name : {"cudaMalloc", "cudaGraphConditionalHandleCreate"}) {
    EXPECT_NE(dlvsym(handle, name, library.c_str()), nullptr) << name;
  }
  for (const char* name : {"simcuda_register_host_kernel", "simcuda_parallel_for"}) {
    EXPECT_NE(dlsym(handle, name), nullptr) << name;
  }
  // The call passes no parameters: unsupported functions return before they read any.
  const auto unsupported =
      reinterpret_cast<int (*)()>(dlsym(handle, "cudaGraphConditionalHandleCreate"));
  EXPECT_EQ(unsupported(), 801);
}

TEST(Exports, Runtime12sNamesAreInItsNode) { CheckRuntime("libcudart.so.12"); }
TEST(Exports, Runtime13sNamesAreInItsNode) { CheckRuntime("libcudart.so.13"); }

}  // namespace
}  // namespace memprof::simcuda
