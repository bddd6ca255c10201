// Pickles: values and how they are read, error messages, and malicious bytes.
#include "analysis/pickle/pickle.h"

#include <gtest/gtest.h>

#include "analysis/interchange/internal/pickle_writer.h"
#include "tests/analysis/interchange/pickle_fixture.h"

namespace memprof::analysis {
namespace {

using namespace std::string_literals;
using testing::Kind;
using testing::Of;
using testing::Parsed;
using testing::Root;

TEST(PickleTest, Integers) {
  const std::pair<std::string, std::int64_t> cases[] = {
      {"K\x07", 7},
      {"K\xff", 255},
      {"M\x34\x12", 0x1234},
      {"J\xff\xff\xff\xff", -1},
      {"J\x00\x00\x00\x80"s, INT32_MIN},
      {"\x8a\x00"s, 0},
      {"\x8a\x01\x80", -128},
      {"\x8a\x02\x80\x00"s, 128},
      {"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", INT64_MAX},
      {"\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80"s, INT64_MIN},
      {"\x8b\x01\x00\x00\x00\x05"s, 5},
  };
  for (const auto& [opcodes, value] : cases) {
    const Parsed parsed(Of(opcodes));
    EXPECT_EQ(Root(parsed).kind(), Kind::kInteger);
    EXPECT_EQ(Root(parsed).Signed(99), value);
    EXPECT_EQ(Root(parsed).Unsigned(99), value < 0 ? 99 : static_cast<std::uint64_t>(value));
    EXPECT_EQ(Root(parsed).Float(), static_cast<double>(value));
  }
  const Parsed unsigned_64(Of("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00"s));
  EXPECT_EQ(Root(unsigned_64).Unsigned(), ~0ull);
  EXPECT_EQ(Root(unsigned_64).Signed(5), 5);
  for (const std::string& huge : {"\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01"s,
                                  "\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\xff"s}) {
    const Parsed parsed(Of(huge));
    EXPECT_EQ(Root(parsed).kind(), Kind::kHuge);
    EXPECT_EQ(Root(parsed).Unsigned(3), 3u);
  }
}

TEST(PickleTest, OtherScalars) {
  EXPECT_EQ(Root(Parsed(Of("N"))).kind(), Kind::kNone);
  EXPECT_TRUE(Root(Parsed(Of("\x88"))).True());
  EXPECT_FALSE(Root(Parsed(Of("\x89"))).True());
  EXPECT_EQ(Root(Parsed(Of("\x88"))).Unsigned(9), 1u);
  EXPECT_EQ(Root(Parsed(Of("G\x3f\xf8\x00\x00\x00\x00\x00\x00"s))).Float(), 1.5);
  const std::pair<std::string, std::string> texts[] = {
      {"\x8c\x03"
       "abc",
       "abc"},
      {"\x8c\x00"s, ""},
      {"X\x02\x00\x00\x00hi"s, "hi"},
      {"\x8d\x01\x00\x00\x00\x00\x00\x00\x00z"s, "z"}};
  for (const auto& [opcodes, text] : texts) {
    const Parsed parsed(Of(opcodes));
    EXPECT_EQ(Root(parsed).Text(), text);
    EXPECT_EQ(Root(parsed).kind(), Kind::kText);
  }
  const Parsed bytes(Of("C\x01q"));
  EXPECT_EQ(Root(bytes).kind(), Kind::kBytes);
  EXPECT_EQ(Root(bytes).Text(), "");  // bytes are not text
}

// {"a": [1, 2], "b": (3,), "c": ()} as Python 3 writes it in protocols 2, 3 and 4.
TEST(PickleTest, ContainersOfSeveralProtocols) {
  const std::string written[] = {
      "\x80\x02}q\x00(X\x01\x00\x00\x00"
      "aq\x01]q\x02(K\x01K\x02"
      "eX\x01\x00\x00\x00"
      "bq\x03K\x03\x85q\x04X\x01\x00\x00\x00"
      "cq\x05)u."s,
      "\x80\x04\x95\x1b\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01"
      "a\x94]\x94(K\x01K\x02"
      "e\x8c\x01"
      "b\x94K\x03\x85\x94\x8c\x01"
      "c\x94)u."s,
      "\x80\x03(X\x01\x00\x00\x00"
      "a(K\x01K\x02lX\x01\x00\x00\x00"
      "b(K\x03tX\x01\x00\x00\x00"
      "c(td."s};
  for (const std::string& bytes : written) {
    const Parsed parsed(bytes);
    ASSERT_TRUE(parsed.pickle.ok()) << parsed.pickle.status();
    const Pickle& pickle = *parsed.pickle;
    ASSERT_EQ(Root(parsed).kind(), Kind::kDict);
    const auto list = pickle.Items(pickle.At(pickle.root(), "a"));
    ASSERT_EQ(list.size(), 2u);
    EXPECT_EQ(list[1].Unsigned(), 2u);
    EXPECT_EQ(pickle.At(pickle.root(), "b").kind(), Kind::kTuple);
    EXPECT_EQ(pickle.Items(pickle.At(pickle.root(), "b"))[0].Unsigned(), 3u);
    EXPECT_TRUE(pickle.Items(pickle.At(pickle.root(), "c")).empty());
    EXPECT_EQ(pickle.At(pickle.root(), "d").kind(), Kind::kNone);
    EXPECT_TRUE(pickle.Items(pickle.root()).empty());  // not a list
    EXPECT_TRUE(pickle.Pairs(pickle.At(pickle.root(), "a")).empty());
  }
}

TEST(PickleTest, SinglePairsAndItemsAndTheLastOfEqualKeys) {
  const Parsed parsed(Of("}\x8c\x01kK\x01s\x8c\x01kK\x02s"));
  EXPECT_EQ(parsed.pickle->At(Root(parsed), "k").Unsigned(), 2u);
  const Parsed list(
      Of("]K\x01"
         "aK\x02"
         "a"));
  EXPECT_EQ(list.pickle->Items(Root(list)).size(), 2u);
}

TEST(PickleTest, TheMemoGivesTheSameObject) {
  const Parsed parsed(Of("]\x94]\x94h\x01\x86h\x00\x86"s));
  const auto outer = parsed.pickle->Items(Root(parsed));
  const auto inner = parsed.pickle->Items(outer[0]);
  EXPECT_EQ(inner[0].container(), inner[1].container());
  EXPECT_NE(inner[0].container(), outer[1].container());
  // Memo slots out of order, and overwritten.
  const Parsed far(
      Of("K\x07r\x00\x00\x00\x40"
         "0K\x08q\x00"
         "0K\x09q\x00"
         "0j\x00\x00\x00\x40h\x00\x86"s));
  const auto pair = far.pickle->Items(Root(far));
  EXPECT_EQ(pair[0].Unsigned(), 7u);
  EXPECT_EQ(pair[1].Unsigned(), 9u);
}

TEST(PickleTest, AListMayHoldItself) {
  const Parsed parsed(
      Of("]\x94h\x00"
         "a"s));
  EXPECT_EQ(parsed.pickle->Items(Root(parsed))[0].container(), Root(parsed).container());
}

}  // namespace
}  // namespace memprof::analysis
