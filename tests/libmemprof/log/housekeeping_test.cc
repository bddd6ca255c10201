// What the writer does for its owner, through the table of functions.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "libmemprof/src/log/writer.h"
#include "tests/libmemprof/log/with_ring.h"

namespace memprof::recorder {
namespace {

constexpr std::uint64_t kTenSeconds = 10'000'000'000;

struct RingOwner {
  std::atomic<int> drains{0}, seconds{0}, finishes{0}, failures{0};
  std::atomic<std::uint32_t> thread_of_second{0}, thread_of_finish{0};

  Housekeeping Table() {
    Housekeeping table;
    table.owner = this;
    table.before_drain = [](void* owner) { ++static_cast<RingOwner*>(owner)->drains; };
    table.each_second = [](void* owner) {
      auto* self = static_cast<RingOwner*>(owner);
      self->thread_of_second = CurrentTid();
      ++self->seconds;
    };
    table.before_finish = [](void* owner) {
      auto* self = static_cast<RingOwner*>(owner);
      self->thread_of_finish = CurrentTid();
      ++self->finishes;
    };
    table.on_failure = [](void* owner) { ++static_cast<RingOwner*>(owner)->failures; };
    table.counts = [](void*) -> Housekeeping::Counts { return {71, 5}; };
    return table;
  }
};

class HousekeepingTest : public WithRing {
 protected:
  HousekeepingTest() {
    std::string pattern = ::testing::TempDir() + "memprof-housekeeping-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    EXPECT_EQ(log_.Create((directory_ + "/t.mprof").c_str()), 0);
  }
  ~HousekeepingTest() override { std::filesystem::remove_all(directory_); }
  std::string directory_;
  LogFile log_;
};

TEST_F(HousekeepingTest, EveryTaskIsCalledOnItsThread) {
  RingOwner owner;
  Writer writer(&ring_, &log_, owner.Table());
  ASSERT_TRUE(writer.Start());
  ASSERT_TRUE(writer.Flush(kTenSeconds));
  EXPECT_GE(owner.drains, 1);
  EXPECT_EQ(owner.finishes, 0);
  ASSERT_TRUE(writer.Finish(kTenSeconds));
  EXPECT_EQ(owner.finishes, 1);
  EXPECT_EQ(owner.thread_of_finish, CurrentTid()) << "in the thread that requests the end";
  EXPECT_GE(owner.seconds, 1) << "the first time immediately";
  EXPECT_NE(owner.thread_of_second, CurrentTid());
  writer.Stop();
  EXPECT_EQ(owner.failures, 0);
  const testing::Log log = testing::ReadLog(log_.path());
  EXPECT_TRUE(log.has_trailer) << log.error;
  EXPECT_EQ(log.self.stacks(), 71u);
  EXPECT_EQ(log.counters.at("driver_versions_unknown"), 5u);
}

TEST_F(HousekeepingTest, AWriterWithoutAnOwnerWritesAllTheSame) {
  Writer writer(&ring_, &log_, {});
  ASSERT_TRUE(writer.Start());
  definitions_.InternString("alone");
  ASSERT_TRUE(writer.Finish(kTenSeconds));
  writer.Stop();
  const testing::Log log = testing::ReadLog(log_.path());
  EXPECT_TRUE(log.has_trailer) << log.error;
  EXPECT_EQ(log.strings.size(), 1u);
  EXPECT_EQ(log.self.stacks(), 0u);
}

}  // namespace
}  // namespace memprof::recorder
