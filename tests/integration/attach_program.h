// A program to which memprof is attached while it runs, and the command.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/integration/harness.h"

namespace memprof::testing {

inline GuestResult Memprof(const TempDirectory& directory, std::vector<std::string> arguments) {
  GuestOptions options{
      .preload = false, .standin = false, .output = "", .directory = directory.path()};
  options.arguments = std::move(arguments);
  return RunProgram(BuildPath("bin/memprof"), options);
}

// A guest whose standard input ends with this. Its output is read on a thread, so that it never
// waits.
class Program {
 public:
  Program(const TempDirectory& directory, const std::string& how, bool preload = false,
          std::map<std::string, std::string> environment = {},
          const std::string& name = "guest_attached") {
    EXPECT_EQ(pipe2(input_, O_CLOEXEC), 0);
    GuestOptions options{.preload = preload, .directory = directory.path()};
    if (!preload) options.output = "";
    options.environment = std::move(environment);
    options.arguments = {how};
    options.input = input_[0];
    options.longest_s = 60;
    guest_ = std::make_unique<RunningGuest>(GuestPath(name), options);
    close(input_[0]);
    reader_ = std::thread([this] {
      for (std::string line = guest_->ReadLine(); !line.empty(); line = guest_->ReadLine()) {
        const std::lock_guard lock(mutex_);
        lines_.push_back(line);
      }
    });
  }
  ~Program() { End(); }

  std::string pid() const { return std::to_string(guest_->pid()); }
  // Waits for so many more lines than there are now; the first time, than none: those that block
  // after their first line may have printed it already.
  void Go(std::size_t more) {
    const std::size_t wanted = (began_ ? Count() : 0) + more;
    began_ = true;
    for (int i = 0; i < 12000 && Count() < wanted; ++i) usleep(10000);
    EXPECT_GE(Count(), wanted);
  }
  // Its exit status, and what it printed.
  int End() {
    if (guest_ == nullptr) return 0;
    close(input_[1]);
    reader_.join();
    const GuestResult result = guest_->Wait();
    EXPECT_EQ(result.err, "");
    guest_.reset();
    return result.status;
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::size_t Count() {
    const std::lock_guard lock(mutex_);
    return lines_.size();
  }

  int input_[2];
  bool began_ = false;
  std::unique_ptr<RunningGuest> guest_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::thread reader_;
};

class AttachTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "sanitizers want to begin all threads themselves";
  }
};

#define ATTACH_OR_SKIP(result)                                       \
  if ((result).err.find("may not be traced") != std::string::npos || \
      (result).err.find("needs an x86-64") != std::string::npos)     \
    GTEST_SKIP() << (result).err;                                    \
  ASSERT_EQ((result).status, 0) << (result).err

}  // namespace memprof::testing
