// Reports of PyTorch that other tools also receive, or that no other library defines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/load/load.h"
#include "analysis/store/session.h"
#include "tests/integration/harness.h"
#include "tests/integration/torch_figures.h"

namespace memprof::testing {
namespace {

using ::testing::ContainerEq;
using ::testing::Contains;
using ::testing::IsEmpty;

TEST(TorchGuest, TwoCopiesOfTheLibraryGetTheirOwnCalls) {
  TempDirectory directory;
  const GuestResult guest = RunAllocator(directory, {"two"});
  ExpectForwarded(guest);
  EXPECT_THAT(guest.lines(), Contains("seen 7 7"));
  EXPECT_THAT(guest.lines(), Contains("seen 5 5"));
}

TEST(TorchGuest, AnotherToolInFrontOrBehindHearsEveryCallOnce) {
  const std::string ours = BuildPath("lib/libmemprof.so");
  const std::string other = GuestPath("libguest_torch_between.so");
  for (const std::string& preload : {ours + ":" + other, other + ":" + ours}) {
    TempDirectory directory;
    const GuestResult guest = RunAllocator(directory, {"random", "3"}, {{"LD_PRELOAD", preload}});
    ASSERT_EQ(guest.status, 0) << guest.err;
    const Log log = ReadLog(directory.File("g.mprof"));
    EXPECT_THAT(RecordedFigures(log), ContainerEq(PrintedFigures(guest))) << preload;
    std::uint64_t reports = 0;
    for (const Event& event : log.events) reports += event.layer == log::LAYER_BLOCK;
    reports -= log.WithOp(log::OP_FRAMEWORK_OOM).size();
    EXPECT_THAT(guest.lines(), Contains("between " + std::to_string(reports))) << preload;
    // The tool looks for the next definition in the global scope. It cannot find definitions local
    // to a library unless memprof finds them for it.
    if (preload.starts_with(other)) ExpectForwarded(guest);
  }
}

TEST(TorchGuest, WithoutANextFunctionCallsEnd) {
  const std::string ours = BuildPath("lib/libmemprof.so");
  const std::string other = GuestPath("libguest_torch_between.so");
  for (const std::string& preload : {ours + ":" + other, other + ":" + ours}) {
    TempDirectory directory;
    const GuestResult guest = RunAllocator(directory, {"lonely"}, {{"LD_PRELOAD", preload}});
    EXPECT_EQ(guest.status, 0) << guest.err;
    EXPECT_THAT(guest.lines(), Contains("between 3")) << preload;
  }
}

TEST(TorchGuest, WithoutRecordingCallsArriveAllTheSame) {
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"MEMPROF_START", "paused"}, {"MEMPROF_DISABLE", "1"}}) {
    TempDirectory directory;
    ExpectForwarded(RunAllocator(directory, {"random", "3"}, {{name, value}}));
    EXPECT_THAT(directory.Files(".mprof"), IsEmpty());
  }
}

TEST(TorchGuest, WithoutMemprofTheGuestIsRight) {
  TempDirectory directory;
  GuestOptions options{
      .arguments = {"random", "3"}, .preload = false, .directory = directory.path()};
  ExpectForwarded(RunGuest("guest_torch_allocator", options));
}

TEST(TorchGuest, AForkedChildOnlyForwards) {
  TempDirectory directory;
  const GuestResult guest = RunAllocator(directory, {"fork"});
  ExpectForwarded(guest);
  EXPECT_THAT(guest.lines(), Contains("child 0"));
  EXPECT_THAT(directory.Files(".mprof").size(), 1u);
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_THAT(RecordedFigures(log), ContainerEq(PrintedFigures(guest)));
}

TEST(TorchGuest, HostileReportsHarmNothing) {
  TempDirectory directory;
  ExpectForwarded(RunAllocator(directory, {"hostile"}));
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(log.error, "");
  EXPECT_TRUE(log.has_trailer);
  EXPECT_GT(Counted(log, "framework_totals_differ"), 0u);
}

}  // namespace
}  // namespace memprof::testing
