// Budgets as users write them.
#include "proto/always_on.h"

#include <gtest/gtest.h>

namespace memprof::recorder {
namespace {

constexpr std::uint64_t kOneSecond = 1'000'000'000;

TEST(AlwaysOn, ReadsBudgets) {
  const struct {
    const char* text;
    std::uint64_t bytes, period_ns;
    std::uint32_t kept;
  } kCases[] = {
      {"10MB/day", 10'000'000, 86400 * kOneSecond, 7},
      {"65536/s", 65536, kOneSecond, 7},
      {"65536B/1s,keep=0", 65536, kOneSecond, 0},
      {"500KiB/2h,keep=48", 512000, 7200 * kOneSecond, 48},
      {"1G/week", kOneSecond, 7 * 86400 * kOneSecond, 7},
      {"2GiB/30min", std::uint64_t{2} << 30, 1800 * kOneSecond, 7},
  };
  for (const auto& row : kCases) {
    log::AlwaysOnBudget read;
    ASSERT_TRUE(log::ParseAlwaysOn(row.text, &read)) << row.text;
    EXPECT_EQ(read.budget_bytes, row.bytes) << row.text;
    EXPECT_EQ(read.period_ns, row.period_ns) << row.text;
    EXPECT_EQ(read.kept, row.kept) << row.text;
  }
}

TEST(AlwaysOn, RefusesWhatIsNone) {
  for (const char* text :
       {"", "10MB", "10MB/", "/day", "MB/day", "-10MB/day", "10XB/day", "10MB/fortnight",
        "10MB/day,", "10MB/day,keep=", "10MB/day,keep=-1", "10MB/day,keep=1001", "1KB/day",
        "10MB/0s", "10MB/day,keep=3x", "99999999999999999999MB/day", "9999999999GB/day",
        "10MB/99999999999999week", "10 MB/day"}) {
    log::AlwaysOnBudget read;
    EXPECT_FALSE(log::ParseAlwaysOn(text, &read)) << text;
    EXPECT_FALSE(read.wanted()) << text;
  }
}

}  // namespace
}  // namespace memprof::recorder
