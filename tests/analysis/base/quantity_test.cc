// Sizes and times as users write them: the table of the grammar, and what is refused.
#include "analysis/base/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

#include "analysis/base/units.h"
#include "simcuda/common/config.h"

namespace memprof::analysis {
namespace {

using ::testing::HasSubstr;
using Kind = Quantity::Kind;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

struct Case {
  const char* text;
  Kind kind;
  std::uint64_t value;
};
constexpr Case kCases[] = {
    {"0", Kind::kNumber, 0},
    {"4096", Kind::kNumber, 4096},
    {"1e3", Kind::kNumber, 1000},
    {"18446744073709551615", Kind::kNumber, kMax},
    {"512B", Kind::kSize, 512},
    {"0.5 b", Kind::kSize, 1},
    {"1K", Kind::kSize, 1024},
    {"1kb", Kind::kSize, 1000},
    {"2 MB", Kind::kSize, 2'000'000},
    {"64MiB", Kind::kSize, 64 << 20},
    {" 64 mib ", Kind::kSize, 64 << 20},
    {"1.5GiB", Kind::kSize, 3 << 29},
    {".5KiB", Kind::kSize, 512},
    {"80GB", Kind::kSize, 80'000'000'000},
    {"80GiB", Kind::kSize, std::uint64_t{80} << 30},
    {"2T", Kind::kSize, std::uint64_t{2} << 40},
    {"2TB", Kind::kSize, 2'000'000'000'000},
    {"3P", Kind::kSize, std::uint64_t{3} << 50},
    {"1EiB", Kind::kSize, std::uint64_t{1} << 60},
    {"1EB", Kind::kSize, 1'000'000'000'000'000'000},
    {"9007199254740993B", Kind::kSize, 9007199254740993},  // 2^53 + 1: exact
    {"850ns", Kind::kTime, 850},
    {"1.5us", Kind::kTime, 1500},
    {"10\xc2\xb5s", Kind::kTime, 10'000},
    {"10\xce\xbcs", Kind::kTime, 10'000},
    {"500ms", Kind::kTime, 500'000'000},
    {"2s", Kind::kTime, 2'000'000'000},
    {"2 SEC", Kind::kTime, 2'000'000'000},
    {"1.5min", Kind::kTime, 90'000'000'000},
    {"2h", Kind::kTime, 7'200'000'000'000},
};

TEST(QuantityTest, ReadsTheGrammar) {
  for (const auto& [text, kind, value] : kCases) {
    const auto quantity = ParseQuantity(text);
    ASSERT_TRUE(quantity) << text;
    EXPECT_EQ(quantity->kind, kind) << text;
    EXPECT_EQ(quantity->value, value) << text;
    EXPECT_NEAR(quantity->exact, static_cast<double>(value), 0.5 + 1e-12 * quantity->exact) << text;
  }
}

TEST(QuantityTest, RefusesAllElse) {
  for (const char* text : {"",
                           " ",
                           "x",
                           "MiB",
                           "1.2.3",
                           "1X",
                           "1Mi",
                           "1BiB",
                           "1E",
                           "-1",
                           "+1",
                           "1 2",
                           "inf",
                           "nan",
                           "0x10",
                           "1e400",
                           "1e30TiB",
                           "99999999TiB",
                           "18446744073709551616",
                           "16EiB",
                           "64MiB/s",
                           "lots"})
    EXPECT_FALSE(ParseQuantity(text)) << text;
}

TEST(QuantityTest, SizesAreBytesWithoutAUnit) {
  EXPECT_EQ(*ParseSize("4096"), 4096u);
  EXPECT_EQ(*ParseSize("80GB"), 80'000'000'000u);
  EXPECT_EQ(*ParseSize("4EiB"), std::uint64_t{1} << 62);
  for (const char* text : {"much", "2s", "5EiB"})
    EXPECT_THAT(
        std::string(ParseSize(text).status().message()),
        HasSubstr(std::string("'") + text + "' is no size; sizes are bytes, or have a unit"))
        << text;
  EXPECT_LT(ParseSize(std::string(5000, 'x')).status().message().size(), 200u);
}

TEST(QuantityTest, TimesSayTheirUnitOrTheOptionDoes) {
  EXPECT_EQ(*ParseTime("500ms", 1'000'000'000), 500'000'000u);
  EXPECT_EQ(*ParseTime("1.5", 1'000'000'000), 1'500'000'000u);
  EXPECT_EQ(*ParseTime("0", 1'000'000'000), 0u);
  for (const char* text : {"soon", "2MiB", "1e18"})
    EXPECT_THAT(std::string(ParseTime(text, 1'000'000'000).status().message()),
                HasSubstr(" is no time; times have a unit as in 500ms"))
        << text;
}

// Printed values can be read back, with an error in the third digit at most.
TEST(QuantityTest, ReadsWhatIsPrinted) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t value = random() >> (1 + random() % 63);
    const auto size = ParseQuantity(FormatBytes(value));
    ASSERT_TRUE(size) << FormatBytes(value);
    EXPECT_NEAR(size->exact, static_cast<double>(value), static_cast<double>(value) * 0.00501);
    const TimeNs time = value % 99'000'000'000;
    const auto read = ParseQuantity(FormatDuration(time));
    ASSERT_TRUE(read) << FormatDuration(time);
    EXPECT_EQ(read->kind, Kind::kTime);
    EXPECT_NEAR(read->exact, static_cast<double>(time), static_cast<double>(time) * 0.00501);
  }
}

// The stand-in GPU has a separate parser because it shares no code with the profiler. It accepts
// the same sizes.
TEST(QuantityTest, TheStandInReadsTheSameSizes) {
  for (const auto& [text, kind, value] : kCases) {
    std::uint64_t bytes = 7;
    const bool size = kind != Kind::kTime && value <= std::uint64_t{1} << 62;
    EXPECT_EQ(simcuda::ParseSize(text, &bytes), size) << text;
    EXPECT_EQ(bytes, size ? value : 7) << text;
  }
}

}  // namespace
}  // namespace memprof::analysis
