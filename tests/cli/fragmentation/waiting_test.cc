// The table of what waits for other streams.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

using analysis::Layer;
using analysis::Op;
using analysis::testing::LogBuilder;

TEST(WaitingTextTest, ASiteOfSeveralDevicesIsOneRow) {
  LogBuilder log;
  for (const int device : {0, 1}) log.Device(device, 1024 * kMiB);
  const int site = log.Stack({"main (a.py:1)", "gather (a.py:7)"});
  for (const int device : {0, 1}) {
    const auto base = static_cast<std::uint64_t>(1 + device) << 32;
    log.Alloc(Layer::kSegment, base, 20 * kMiB, {.device = device, .stream = 5});
    for (std::uint64_t i = 0; i < 3; ++i) {
      log.Alloc(Layer::kBlock, base + i * kMiB, kMiB, {.device = device, .stream = 5});
      log.Event(Op::kStreamUse, Layer::kBlock, base + i * kMiB, 0, 0,
                {.device = device, .stack = site, .stream = 6});
    }
    log.Event(Op::kWaiting, Layer::kBlock, 0, 3 * kMiB, 0, {.device = device, .aux0 = 3});
  }
  const analysis::testing::TempDirectory directory;
  const Result result = Memprof({"fragmentation", directory.Write("x.mprof", log.Bytes())});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, ::testing::ContainsRegex("\n +6 +6\\.00 MiB +gather \\(a\\.py:7\\)"));
}

}  // namespace
}  // namespace memprof::cli::testing
