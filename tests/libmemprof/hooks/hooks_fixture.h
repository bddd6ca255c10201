// A recording in front of the fake driver: its calls go through the exported wrappers.
#pragma once

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstring>
#include <string>
#include <vector>

#include "libmemprof/include/memprof/memprof.h"
#include "libmemprof/src/driver/api.h"
#include "tests/libmemprof/hooks/fake_driver.h"
#include "tests/libmemprof/recording/recording.h"
#include "tests/libmemprof/stacks/recorded_walk.h"

namespace memprof::testing {

inline FakeDriver& TheFakeDriver() {
  static FakeDriver* const driver = [] {
    void* library = dlopen(MEMPROF_TEST_DRIVER, RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<FakeDriver* (*)()>(dlsym(library, "fake_driver"))();
  }();
  return *driver;
}

}  // namespace memprof::testing

namespace memprof::recorder {

// False where a source tells of the calls (sources/source_door.cc): it neither begins recordings
// nor hides calls within calls.
#ifdef MEMPROF_TEST_TOLD
inline constexpr bool kByHooks = false;
#else
inline constexpr bool kByHooks = true;
#endif

class HooksTest : public RecordingTest {
 protected:
  HooksTest() : driver_(testing::TheFakeDriver()) {
    const std::uint64_t next = driver_.next;  // addresses do not come back between tests
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

  void Start() { ASSERT_EQ(memprof_start(), MEMPROF_OK); }
  // From now on every intercepted function answers this.
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
