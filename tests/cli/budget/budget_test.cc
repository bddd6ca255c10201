// Figures of a budget that its goldens do not show.
#include <gtest/gtest.h>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

using analysis::Layer;
using analysis::testing::LogBuilder;

TEST(BudgetTest, PoolsOfGraphsAddUp) {
  LogBuilder log;
  log.Device(0, 1024 * kMiB);
  for (std::uint64_t pool = 1; pool <= 3; ++pool) {
    const std::uint64_t address = pool << 32;
    log.Alloc(Layer::kLinear, address, 16 * kMiB);
    log.Alloc(Layer::kSegment, address, 16 * kMiB, {.aux1 = pool << 32});
    log.Alloc(Layer::kBlock, address, pool * kMiB);
  }
  log.Event(analysis::Op::kMemoryInfo, Layer::kUnspecified, 0, 900 * kMiB, 0,
            {.aux0 = 1024 * kMiB});
  const analysis::testing::TempDirectory directory;
  const Result result = Memprof({"budget", "--json", directory.Write("x.mprof", log.Bytes())});
  ASSERT_EQ(result.status, 0) << result.err;
  const Json device = Json::parse(result.out)["devices"][0];
  EXPECT_EQ(device["graphs"].size(), 3u);
  EXPECT_EQ(device["parts"]["graphs"], 48 * kMiB);
  std::uint64_t sum = 0;
  for (const auto& [name, bytes] : device["parts"].items()) sum += bytes.get<std::uint64_t>();
  EXPECT_EQ(sum, 1024 * kMiB) << device["parts"];
}

}  // namespace
}  // namespace memprof::cli::testing
