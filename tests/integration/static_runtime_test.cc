// Programs with a static CUDA runtime, which is nvcc's default.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/integration/dumped.h"

namespace memprof::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

std::vector<Call> RecordedCallsOf(const std::string& log) {
  std::vector<Call> calls;
  for (const Call& call : DumpedCalls(log))
    if (call.op == "alloc" || call.op == "free") calls.push_back(call);
  return calls;
}

TEST(StaticRuntime, ItsCallsAreRecordedWithFunctionFileAndLine) {
  const Recording run("guest_runtime_static");
  ASSERT_EQ(run.expected().size(), 4u);
  EXPECT_THAT(RecordedCallsOf(run.log()), ElementsAreArray(run.expected()));
  EXPECT_TRUE(MemprofJson({"report", "--json", run.log()}).at("complete"));
}

TEST(StaticRuntime, WithoutTheRecorderItRunsAlike) {
  const TempDirectory directory;
  const GuestResult guest =
      RunGuest("guest_runtime_static", {.preload = false, .directory = directory.path()});
  EXPECT_EQ(guest.status, 0) << guest.err;
  EXPECT_EQ(ExpectedCalls(guest.out).size(), 4u);
}

// The toolkit's own static runtime requests tables that only the real driver has
// (simcuda/README.md). On the stand-in it must fail in the same way with and without the recorder;
// on a real driver its calls must be in the log.
TEST(StaticRuntime, OfTheToolkitIsRecordedOrFailsAsWithoutTheRecorder) {
  if (!std::filesystem::exists(GuestPath("guest_toolkit_static")))
    GTEST_SKIP() << "this toolkit has no libcudart_static.a";
  const TempDirectory directory;
  GuestOptions options{.preload = false, .directory = directory.path()};
  const GuestResult plain = RunGuest("guest_toolkit_static", options);
  options.preload = true;
  const GuestResult recorded = RunGuest("guest_toolkit_static", options);
  EXPECT_EQ(recorded.status, plain.status);
  if (plain.status == 0) {
    EXPECT_THAT(RecordedCallsOf(directory.File("g.mprof")),
                ElementsAreArray(ExpectedCalls(recorded.out)));
    return;
  }
  EXPECT_EQ(recorded.err, plain.err);
  EXPECT_THAT(plain.err, HasSubstr("cudaErrorSymbolNotFound"));
  GTEST_SKIP() << "the stand-in lacks the tables that this runtime requests from a driver: "
               << plain.err;
}

}  // namespace
}  // namespace memprof::testing
