// Wire format: varints, fields, UTF-8; compared with libprotobuf.
#include "analysis/log/wire.h"

#include <gtest/gtest.h>

#include <limits>

#include "proto/memprof.pb.h"

namespace memprof::analysis {
namespace {

TEST(VarintReaderTest, ReadsWhatLibprotobufWrote) {
  log::Events events;
  const std::uint64_t values[] = {
      0, 1, 127, 128, 300, 1ull << 35, std::numeric_limits<std::uint64_t>::max()};
  for (const std::uint64_t value : values) events.add_bytes(value);
  for (const std::uint64_t value : values)
    events.add_address_delta(static_cast<std::int64_t>(value) - 64);
  const std::string wire = events.SerializeAsString();
  WireReader reader(wire);
  int columns = 0;
  while (reader.Next()) {
    ASSERT_TRUE(reader.packed());
    VarintReader in(reader.bytes());
    EXPECT_EQ(CountVarints(reader.bytes()), std::size(values));
    for (const std::uint64_t value : values) {
      if (reader.field() == 9) {
        EXPECT_EQ(in.Next(), value);
      } else {
        EXPECT_EQ(in.NextZigZag(), static_cast<std::int64_t>(value) - 64);
      }
    }
    EXPECT_TRUE(in.ok());
    EXPECT_TRUE(in.done());
    ++columns;
  }
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(columns, 2);
}

TEST(VarintReaderTest, CutAndOverlongVarintsFail) {
  for (const std::string& bad : {std::string("\x80"), std::string("\xff\xff\xff"),
                                 std::string(10, '\x80'), std::string(9, '\xff') + "\x02"}) {
    VarintReader in(bad);
    EXPECT_EQ(in.Next(), 0u);
    EXPECT_FALSE(in.ok());
    EXPECT_TRUE(in.done());
    EXPECT_EQ(in.Next(), 0u);  // stays failed
  }
  VarintReader largest(std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
  EXPECT_EQ(largest.Next(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_TRUE(largest.ok());
}

TEST(WireReaderTest, FixedAndUnknownFieldsAreReadPast) {
  // field 1 fixed32, field 2 fixed64, field 3 varint
  const std::string wire("\x0d\x01\x00\x00\x00\x11\x02\x00\x00\x00\x00\x00\x00\x00\x18\x05", 16);
  WireReader reader(wire);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.number(), 1u);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.number(), 2u);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.field(), 3u);
  EXPECT_EQ(reader.number(), 5u);
  EXPECT_FALSE(reader.Next());
  EXPECT_TRUE(reader.ok());
}

TEST(WireReaderTest, MalformedFieldsFail) {
  for (const std::string& bad :
       {std::string("\x00\x01", 2),                                      // field 0
        std::string("\x0b"),                                             // a group
        std::string("\x0a\x05xyz"),                                      // longer than the message
        std::string("\x0d\x01\x02"),                                     // fixed32 cut
        std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")}) {  // length 2^64 - 1
    WireReader reader(bad);
    while (reader.Next()) {
    }
    EXPECT_FALSE(reader.ok());
  }
}

TEST(ValidUtf8Test, KeepsGoodAndReplacesBad) {
  EXPECT_EQ(ValidUtf8("plain"), "plain");
  EXPECT_EQ(ValidUtf8("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x9a\x80"),
            "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x9a\x80");
  EXPECT_EQ(ValidUtf8("a\xff"
                      "b"),
            "a\xef\xbf\xbd"
            "b");
  const auto bad = [](int bytes) {
    std::string text;
    for (; bytes > 0; --bytes) text += "\xef\xbf\xbd";
    return text;
  };
  EXPECT_EQ(ValidUtf8("\xc3"), bad(1));                     // cut
  EXPECT_EQ(ValidUtf8("\xc0\xaf"), bad(2));                 // over-long
  EXPECT_EQ(ValidUtf8("\xed\xa0\x80"), bad(3));             // surrogate
  EXPECT_EQ(ValidUtf8("\xf4\x90\x80\x80"), bad(4));         // beyond U+10FFFF
  EXPECT_EQ(ValidUtf8(std::string_view("\0", 1)), bad(1));  // where C ends a text
}

TEST(LogTextTest, CutsBetweenCharacters) {
  EXPECT_EQ(LogText("plain", 5), "plain");
  EXPECT_EQ(LogText("plain", 4), "plai");
  EXPECT_EQ(LogText("gr\xc3\xbcn", 3), "gr");
  EXPECT_EQ(LogText("gr\xc3\xbcn", 4), "gr\xc3\xbc");
  EXPECT_EQ(LogText(std::string(100, '\xff'), 100).size(), 99u);  // 33 of three bytes
  EXPECT_EQ(LogText(std::string(70'000, 'x')).size(), 65'536u);
}

}  // namespace
}  // namespace memprof::analysis
