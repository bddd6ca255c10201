// A recording on a driver that the test chooses: what driver calls leave in the log. Calls go
// through the exported wrappers; or, where the environment variable MEMPROF_TEST_SOURCE names the
// driver, a source reports them (sources/source_door.cc).
#pragma once

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "libmemprof/include/memprof/memprof.h"
#include "libmemprof/src/driver/api.h"
#include "tests/libmemprof/events/fake_driver.h"
#include "tests/libmemprof/events/recorded_walk.h"
#include "tests/libmemprof/recording/recording.h"
#include "tests/support/paths.h"

namespace memprof::testing {

// The library used as libcuda: a FakeDriver, unless the environment names another.
inline const char* DriverLibrary() {
  for (const char* variable : {"MEMPROF_TEST_SOURCE", "MEMPROF_TEST_HOOKED"})
    if (const char* library = std::getenv(variable)) return library;
  return paths::kFakeDriver;
}

inline FakeDriver& TheFakeDriver() {
  static FakeDriver* const driver = [] {
    void* library = dlopen(paths::kFakeDriver, RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<FakeDriver* (*)()>(dlsym(library, "fake_driver"))();
  }();
  return *driver;
}

}  // namespace memprof::testing

namespace memprof::recorder {

// False where a source reports the calls: a source does not start recordings and does not hide
// nested calls.
inline bool ByHooks() { return std::getenv("MEMPROF_TEST_SOURCE") == nullptr; }

inline const auto kStream = reinterpret_cast<CUstream>(0x57);
constexpr CUstream kNoStream = nullptr;

class HooksTest : public RecordingTest {
 protected:
  HooksTest() : driver_(testing::TheFakeDriver()) {
    const std::uint64_t next = driver_.next;  // addresses are not reused between tests
    driver_ = testing::FakeDriver();
    driver_.next = next;
    driver_.current = driver_.primary[0];
  }

  // Calls the exported function of that name as a program does.
  template <typename... Arguments>
  static CUresult Call(const char* name, Arguments... arguments) {
    return reinterpret_cast<CUresult (*)(Arguments...)>(Wrapper(name))(arguments...);
  }
  static void* Wrapper(const char* name) { return WrapperFunction(Id(name)); }
  static FunctionId Id(const char* name) {
    for (int i = 0; i < kFunctionCount; ++i)
      if (std::strcmp(FunctionName(static_cast<FunctionId>(i)), name) == 0)
        return static_cast<FunctionId>(i);
    ADD_FAILURE() << "not in the table: " << name;
    return FunctionId::k_cuInit;
  }

  using Handle = CUmemGenericAllocationHandle;
  static Handle CreateMemory(std::size_t bytes, int device = 0,
                             CUmemLocationType type = CU_MEM_LOCATION_TYPE_DEVICE) {
    CUmemAllocationProp properties{};
    properties.location.type = type;
    properties.location.id = device;
    Handle handle = 0;
    Call("cuMemCreate", &handle, bytes, static_cast<const CUmemAllocationProp*>(&properties), 0ull);
    return handle;
  }

  void Start() { ASSERT_EQ(memprof_start(), MEMPROF_OK); }
  // The result of every intercepted function from now on.
  void Answer(CUresult result) {
    driver_.decide = [result](const testing::DriverCall&) { return result; };
  }
  // Events of the log so far.
  std::vector<testing::Event> Events() {
    EXPECT_EQ(memprof_flush(), MEMPROF_OK);
    return testing::ReadLog(path_).events;
  }
  struct memprof_stats Stats() {
    struct memprof_stats stats {};
    stats.size = sizeof stats;
    memprof_get_stats(&stats);
    return stats;
  }

  testing::FakeDriver& driver_;
};

}  // namespace memprof::recorder
