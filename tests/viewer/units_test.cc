// Texts for bytes, times and shares.
#include "viewer/geometry/units.h"

#include <gtest/gtest.h>

namespace memprof::viewer {
namespace {

TEST(Units, BytesHaveThreeDigitsAndBinaryUnits) {
  EXPECT_EQ(FormatBytes(0), QStringLiteral("0 B"));
  EXPECT_EQ(FormatBytes(512), QStringLiteral("512 B"));
  EXPECT_EQ(FormatBytes(1536), QStringLiteral("1.50 KiB"));
  EXPECT_EQ(FormatBytes(50ull << 20), QStringLiteral("50.0 MiB"));
}

TEST(Units, SignedBytesSayTheirSign) {
  EXPECT_EQ(FormatSignedBytes(0), QStringLiteral("0 B"));
  EXPECT_EQ(FormatSignedBytes(1048576), QStringLiteral("+1.00 MiB"));
  EXPECT_EQ(FormatSignedBytes(-3072), QStringLiteral("-3.00 KiB"));
}

TEST(Units, InstantsHaveTheDigitsThatTheirAxisNeeds) {
  EXPECT_EQ(FormatInstant(0, 1), QStringLiteral("0 s"));
  EXPECT_EQ(FormatInstant(2'000'000'000, 1'000'000'000), QStringLiteral("2 s"));
  EXPECT_EQ(FormatInstant(2'500'000'000, 500'000'000), QStringLiteral("2.5 s"));
  EXPECT_EQ(FormatInstant(500'000'000, 100'000'000), QStringLiteral("500 ms"));
  EXPECT_EQ(FormatInstant(1'200, 100), QString::fromUtf8("1.2 µs"));
  EXPECT_EQ(FormatInstant(7, 1), QStringLiteral("7 ns"));
}

TEST(Units, SmallSharesAreNotRoundedToNothing) {
  EXPECT_EQ(FormatPercent(0), QStringLiteral("0 %"));
  EXPECT_EQ(FormatPercent(0.0001), QStringLiteral("<0.1 %"));
  EXPECT_EQ(FormatPercent(0.054), QStringLiteral("5.4 %"));
  EXPECT_EQ(FormatPercent(0.42), QStringLiteral("42 %"));
}

TEST(Units, PluralsAndPaths) {
  EXPECT_EQ(FormatPlural(1, QStringLiteral("block")), QStringLiteral("1 block"));
  EXPECT_EQ(FormatPlural(1200, QStringLiteral("block")), QStringLiteral("1,200 blocks"));
  EXPECT_EQ(BaseName(QStringLiteral("/a/b/c.cc")), QStringLiteral("c.cc"));
  EXPECT_EQ(BaseName(QStringLiteral("c.cc")), QStringLiteral("c.cc"));
  EXPECT_EQ(FormatAddress(0x7f00), QStringLiteral("0x7f00"));
}

}  // namespace
}  // namespace memprof::viewer
