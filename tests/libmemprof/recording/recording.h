// A recording in the test's own process, with its own directory and log, which are removed
// afterwards.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "libmemprof/src/base/locks.h"
#include "libmemprof/src/lifecycle/lifecycle.h"
#include "libmemprof/src/lifecycle/start.h"
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/recording/record_event.h"
#include "tests/libmemprof/log/log_reader.h"

namespace memprof::recorder {

// No stacks under the thread sanitizer: it cannot handle libunwind's code for the end of threads.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kTestStacks = false;
#else
inline constexpr bool kTestStacks = true;
#endif

class RecordingTest : public ::testing::Test {
 protected:
  RecordingTest() {
    std::string pattern = ::testing::TempDir() + "memprof-recorder-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    path_ = directory_ + "/t.mprof";
    setenv("MEMPROF_OUTPUT", path_.c_str(), 1);
    setenv("MEMPROF_SHM", directory_.c_str(), 1);
    if (!kTestStacks) setenv("MEMPROF_STACK_DEPTH", "0", 1);
  }
  ~RecordingTest() override {
    ResetForTest();
    EXPECT_EQ(LocksOutOfOrder(), locks_out_of_order_);
    for (const char* variable : {"MEMPROF_RING_EVENTS", "MEMPROF_START", "MEMPROF_DISABLE"})
      unsetenv(variable);
    std::filesystem::remove_all(directory_);
  }
  // Ends the log and reads it.
  testing::Log Finish() {
    FinishRecording();
    return testing::ReadLog(path_);
  }
  const std::uint64_t locks_out_of_order_ = LocksOutOfOrder();
  std::string directory_, path_;
};

inline void* At(std::uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace memprof::recorder
