// Text that may go into a log; libprotobuf is the reference.
#include "libmemprof/src/base/text.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "proto/memprof.pb.h"

namespace memprof::recorder {
namespace {

// libprotobuf refuses strings that are not valid UTF-8.
TEST(CleanText, IsAlwaysAcceptedByLibprotobuf) {
  std::mt19937 random(8);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (std::size_t i = 0; i < random() % 20; ++i) {
      const unsigned long kinds[] = {random() % 128, 0xc0 + random() % 64, 0x80 + random() % 64,
                                     random() % 256};
      text += static_cast<char>(kinds[random() % 4]);
    }
    ByteBuffer clean;
    AppendCleanText(text.data(), text.size(), &clean);
    log::StringDef message, parsed;
    std::string wire = "\x12" + std::string(1, static_cast<char>(clean.size()));
    if (clean.size() > 0) wire.append(clean.data(), clean.size());
    ASSERT_LT(clean.size(), 128u);
    ASSERT_TRUE(parsed.ParseFromString(wire)) << round;
    if (IsCleanText(text.data(), text.size())) {
      ASSERT_EQ(parsed.value(), text);
    }
  }
}

TEST(CleanText, KeepsWhatIsValidAndCutsWhatIsLong) {
  const std::string valid = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
  EXPECT_TRUE(IsCleanText(valid.data(), valid.size()));
  EXPECT_FALSE(IsCleanText("\xed\xa0\x80", 3));      // a surrogate
  EXPECT_FALSE(IsCleanText("\xc0\xaf", 2));          // overlong
  EXPECT_FALSE(IsCleanText("\xf4\x90\x80\x80", 4));  // above U+10FFFF
  EXPECT_FALSE(IsCleanText("\xe2\x82", 2));          // cut
  std::string longest;
  while (longest.size() < 2 * kMaxTextBytes) longest += "\xe2\x82\xac";
  ByteBuffer clean;
  AppendCleanText(longest.data(), longest.size(), &clean);
  EXPECT_LE(clean.size(), kMaxTextBytes);
  EXPECT_TRUE(IsCleanText(clean.data(), clean.size())) << "not truncated within a character";
}

}  // namespace
}  // namespace memprof::recorder
