// peak, categories and diff at the instants that a log marks: a failed request, a snapshot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

using analysis::Layer;
using analysis::Op;
using analysis::testing::LogBuilder;
using ::testing::HasSubstr;

class MarkedInstantsTest : public ::testing::Test {
 protected:
  // 8 MiB at the peak; 2, 3 and 4 MiB at snapshots; 5 MiB when the driver refused; 6 MiB when the
  // allocator gave up, if the log says so.
  void Write(bool framework) {
    LogBuilder log;
    log.Device(0, 16 * kMiB);
    log.Alloc(Layer::kLinear, 0x10000000, 8 * kMiB);
    log.Free(0x10000000);
    for (std::uint64_t i = 0; i < 6; ++i) {
      log.Alloc(Layer::kLinear, 0x20000000 + i * kMiB, 1 * kMiB);
      if (i == 1) log.Snapshot("evaluated");
      if (i == 2) log.Snapshot("evaluated");
      if (i == 3) log.Snapshot("sa\x1bved");
      if (i == 4) log.AllocFailed(Layer::kLinear, 12 * kMiB);
      if (i == 5 && framework) log.Event(Op::kFrameworkOom, Layer::kBlock, 0, 7 * kMiB, 0);
    }
    logs_.directory().Write("marked.mprof", log.Bytes());
  }
  Result Run(std::vector<std::string> words) {
    words.emplace_back("marked.mprof");
    return Memprof(words, logs_.path());
  }
  std::uint64_t Bytes(const std::string& at) {
    const Result result = Run({"peak", "--json", "--at=" + at});
    EXPECT_EQ(result.status, 0) << result.err;
    return Json::parse(result.out)["peaks"][0]["bytes"];
  }
  Logs logs_;
};

TEST_F(MarkedInstantsTest, WhereTheAllocatorGaveUpElseWhereTheDriverRefused) {
  Write(true);
  EXPECT_EQ(Bytes("oom"), 6 * kMiB);
  EXPECT_THAT(Run({"peak", "--at=oom"}).out,
              HasSubstr("Device 0: held 6.00 MiB at the failed request of 7.00 MiB (event "));
  Write(false);
  EXPECT_EQ(Bytes("oom"), 5 * kMiB);
}

TEST_F(MarkedInstantsTest, TheLastSnapshotOfAName) {
  Write(true);
  EXPECT_EQ(Bytes("snapshot=evaluated"), 3 * kMiB);
  EXPECT_THAT(Run({"peak", "--at=snapshot=evaluated"}).out,
              HasSubstr("held 3.00 MiB at the snapshot 'evaluated'"));
}

TEST_F(MarkedInstantsTest, CategoriesAndDifferences) {
  Write(true);
  const Json categories =
      Json::parse(Run({"categories", "--json", "--at=snapshot=evaluated"}).out)["devices"][0];
  EXPECT_EQ(categories["bytes"], 3 * kMiB);
  EXPECT_THAT(Run({"categories", "--at=oom"}).out,
              HasSubstr("held 6.00 MiB at the failed request of 7.00 MiB"));
  const Result diff = Run({"diff", "--from=snapshot=evaluated", "--to=oom"});
  EXPECT_EQ(diff.status, 0) << diff.err;
  EXPECT_THAT(diff.out, HasSubstr("before  the snapshot 'evaluated'"));
  EXPECT_THAT(diff.out, HasSubstr("after   the failed request of 7.00 MiB"));
  EXPECT_THAT(diff.out, HasSubstr("3.00 MiB  6.00 MiB  +3.00 MiB"));
}

TEST_F(MarkedInstantsTest, WhatIsNotThereIsOneLine) {
  Write(true);
  const Result none = Run({"peak", "--at=snapshot=none"});
  EXPECT_EQ(none.status, 1);
  EXPECT_EQ(none.err,
            "memprof: marked.mprof: there is no snapshot 'none'; there are: evaluated, evaluated, "
            "sa?ved\n");
  LogBuilder calm;
  calm.Alloc(Layer::kLinear, 0x1000, 4096);
  logs_.directory().Write("marked.mprof", calm.Bytes());
  for (const char* const verb : {"peak", "categories"}) {
    const Result result = Run({verb, "--at=oom"});
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.err, "memprof: marked.mprof: no request for memory failed\n");
  }
}

TEST_F(MarkedInstantsTest, WrongUsage) {
  Write(true);
  for (const char* const at : {"--at=", "--at=snapshot=", "--at=ooms", "--at=step=2"}) {
    const Result result = Run({"peak", at, "--top=1"});
    EXPECT_EQ(result.status, std::string(at) == "--at=" ? 0 : 2) << at;
  }
  EXPECT_EQ(Run({"peak", "--at=oom", "--step=1"}).status, 2);
  EXPECT_EQ(Run({"peak", "--at=oom", "--what-if=x=0"}).status, 2);
  EXPECT_EQ(Run({"categories", "--at=snapshot="}).status, 2);
  EXPECT_EQ(Run({"diff", "--from=snapshot=", "--to=oom"}).status, 2);
}

// The ends of steps are each rank's own: one is two steps ahead of the other.
// What is allocated in the same instant as the next mark belongs to the next step.
TEST(InstantsTest, AStepEndsBeforeTheNextOne) {
  LogBuilder log;
  log.Device(0, 16 * kMiB);
  for (std::uint64_t step = 0; step < 3; ++step) {
    log.SetTime(1000 + step * 1000);
    log.Step(step);
    log.SetTime(1000 + step * 1000);
    log.Alloc(Layer::kLinear, 0x1000000 * (1 + step), kMiB);
  }
  const Logs logs;
  logs.directory().Write("steps.mprof", log.Bytes());
  const Result result = Memprof({"peak", "--json", "--step=1", "steps.mprof"}, logs.path());
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out)["peaks"][0]["bytes"], 2 * kMiB);
}

TEST(InstantsOfRanksTest, StepsEndWithTheirOwnRank) {
  Logs logs;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    LogBuilder log;
    log.header().set_pid(100 + rank);
    log.Device(static_cast<int>(rank), 16 * kMiB);
    for (std::uint64_t step = 0; step < 4; ++step) {
      log.SetTime(1'000'000 * (step + 1) + (rank == 0 ? 0 : 2'200'000));
      log.Step(step);
      log.Alloc(Layer::kLinear, 0x10000000 + step * kMiB, kMiB,
                {.device = static_cast<std::int32_t>(rank)});
    }
    logs.directory().Write(rank == 0 ? "0.mprof" : "1.mprof", log.Bytes());
  }
  const Result result = Memprof({"peak", "--json", "--step=1", "0.mprof", "1.mprof"}, logs.path());
  ASSERT_EQ(result.status, 0) << result.err;
  const Json peaks = Json::parse(result.out)["peaks"];
  ASSERT_EQ(peaks.size(), 2u);
  for (const Json& peak : peaks) {
    EXPECT_EQ(peak["step"], 1);
    EXPECT_EQ(peak["bytes"], 2 * kMiB) << peak["device"];
  }
}

}  // namespace
}  // namespace memprof::cli::testing
