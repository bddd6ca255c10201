// Every name of the real libraries is exported, with the right symbol version and SONAME.
#include <dlfcn.h>
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace memprof::simcuda {
namespace {

std::vector<std::string> ReadNames(const std::string& file) {
  std::ifstream in(std::string(SIMCUDA_EXPORTS) + "/" + file);
  std::vector<std::string> names;
  for (std::string line; std::getline(in, line);) names.push_back(line);
  return names;
}

void* Open(const std::string& library) {
  return dlopen((std::string(SIMCUDA_LIBRARIES) + "/" + library).c_str(), RTLD_NOW | RTLD_LOCAL);
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

TEST(Exports, DriverHasEveryNameWithoutVersion) {
  void* handle = Open("libcuda.so.1");
  ASSERT_NE(handle, nullptr) << dlerror();
  EXPECT_EQ(Soname(handle), "libcuda.so.1");
  const auto names = ReadNames("libcuda.txt");
  EXPECT_GT(names.size(), 600u);
  std::set<void*> addresses;
  for (const std::string& name : names) {
    void* address = dlsym(handle, name.c_str());
    EXPECT_NE(address, nullptr) << name;
    EXPECT_TRUE(addresses.insert(address).second) << name << " has the address of another function";
    EXPECT_EQ(dlvsym(handle, name.c_str(), "libcuda.so.1"), nullptr);
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
  const auto names = ReadNames(library + ".txt");
  EXPECT_GT(names.size(), 400u);
  for (const std::string& name : names) {
    EXPECT_NE(dlvsym(handle, name.c_str(), library.c_str()), nullptr) << name;
  }
  for (const char* name : {"simcuda_register_host_kernel", "simcuda_parallel_for"}) {
    EXPECT_NE(dlsym(handle, name), nullptr) << name;
  }
  // The call passes no parameters: unsupported functions return before they read any.
  const auto unsupported =
      reinterpret_cast<int (*)()>(dlsym(handle, "cudaGraphConditionalHandleCreate"));
  EXPECT_EQ(unsupported(), 801);
}

TEST(Exports, Runtime12HasEveryNameInItsNode) { CheckRuntime("libcudart.so.12"); }
TEST(Exports, Runtime13HasEveryNameInItsNode) { CheckRuntime("libcudart.so.13"); }

}  // namespace
}  // namespace memprof::simcuda
