// Names and positions on their way to another machine, also malformed ones.
#include "analysis/remote/protocol.h"

#include <gtest/gtest.h>

#include <random>

#include "analysis/log/frames.h"

namespace memprof::analysis {
namespace {

const ModuleInfo kModule{.path = "/opt/app", .build_id = std::string("\1\0\377", 3)};
const ModuleInfo kOther{.path = "/opt/app", .build_id = "other"};

SourceFrame FrameOf(const std::string& function, int line, bool inlined) {
  SourceFrame frame{.function = function, .file = "a.cc", .line = line, .module = "app"};
  frame.inlined = inlined;
  frame.symbolised = true;
  return frame;
}

std::string SomeNames() {
  NamesWriter names;
  names.Add(kModule, 0x10, {FrameOf("Inner", 3, true), FrameOf("Outer", 9, false)});
  names.Add(kModule, 0x18, {FrameOf("Outer", 10, false)});
  names.Add(kOther, 0x10, {FrameOf("Elsewhere", 1, false)});
  names.Add(kOther, {.begin = 0x100, .end = 0x140, .thread_local_data = false, .name = "table"});
  names.Add(kOther, {.begin = 0x100, .end = 0x108, .thread_local_data = true, .name = "mine"});
  names.Done(7);
  return names.Take();
}

TEST(NamesTest, ArriveAsTheyWere) {
  NamesElsewhere names;
  std::uint64_t done = 0;
  ASSERT_TRUE(ReadNames(SomeNames(), &names, &done));
  EXPECT_EQ(done, 7u);
  const std::vector<SourceFrame> frames = names.At(kModule, 0x10);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].function, "Inner");
  EXPECT_EQ(frames[0].file, "a.cc");
  EXPECT_EQ(frames[0].line, 3);
  EXPECT_EQ(frames[0].module, "app");
  EXPECT_TRUE(frames[0].inlined && frames[0].symbolised && !frames[0].python);
  EXPECT_FALSE(frames[1].inlined);
  EXPECT_EQ(names.At(kOther, 0x10).at(0).function, "Elsewhere");
  EXPECT_TRUE(names.At(kModule, 0x11).empty());
  EXPECT_EQ(names.VariableAt(kOther, 0x13f, false).name, "table");
  EXPECT_EQ(names.VariableAt(kOther, 0x13f, false).offset, 0x3fu);
  EXPECT_EQ(names.VariableAt(kOther, 0x140, false).name, "");
  EXPECT_EQ(names.VariableAt(kOther, 0xff, false).name, "");
  EXPECT_EQ(names.VariableAt(kOther, 0x104, true).name, "mine");
  EXPECT_EQ(names.VariableAt(kModule, 0x104, true).name, "");
}

TEST(NamesTest, OfFramesThatComeTwiceTheFirstCounts) {
  NamesElsewhere names;
  EXPECT_TRUE(names.Add(kModule, 1, {FrameOf("first", 1, false)}));
  EXPECT_TRUE(names.Add(kModule, 1, {FrameOf("second", 1, false)}));
  EXPECT_EQ(names.At(kModule, 1).at(0).function, "first");
}

TEST(NamesTest, TheirMemoryIsBounded) {
  NamesElsewhere names;
  std::uint64_t added = 0;
  while (added < 20'000 && names.Add(kModule, added, {FrameOf(std::string(60'000, 'f'), 1, false)}))
    ++added;
  EXPECT_GT(added, 1000u);
  EXPECT_LT(added * 60'000, 600u << 20);
}

// Neither a cut nor a changed payload reads beyond its end; the sanitizers would see that.
TEST(NamesTest, MalformedPayloadsAreReadNoFurther) {
  const std::string payload = SomeNames();
  for (std::size_t size = 0; size < payload.size(); ++size) {
    NamesElsewhere names;
    std::uint64_t done = 0;
    ReadNames(payload.substr(0, size), &names, &done);
    EXPECT_NE(done, 7u);
  }
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) {
    std::string changed = payload;
    for (int times = 0; times < 3; ++times)
      changed[random() % changed.size()] = static_cast<char>(random());
    NamesElsewhere names;
    std::uint64_t done = 0;
    ReadNames(changed, &names, &done);
  }
  NamesElsewhere names;
  std::uint64_t done = 0;
  EXPECT_FALSE(ReadNames("\x09", &names, &done)) << "no such entry";
  EXPECT_FALSE(ReadNames(std::string("\x02\x01\xff\xff\xff\xff\x7f", 7), &names, &done)) << "count";
  EXPECT_FALSE(ReadNames(std::string("\x01\xff\xff\xff\xff\x7f", 6), &names, &done)) << "length";
}

TEST(NamesTest, OfLongNamesAPayloadStillFitsIntoAFrame) {
  NamesWriter names;
  std::vector<SourceFrame> frames(300, FrameOf(std::string(100'000, 'f'), 1, true));
  names.Add(kModule, 0x10, frames);
  EXPECT_LE(names.size(), kMostFrameBytes - (512u << 10));
  NamesElsewhere received;
  std::uint64_t done = 0;
  ASSERT_TRUE(ReadNames(names.Take(), &received, &done));
  EXPECT_EQ(received.At(kModule, 0x10).at(0).function, std::string(64u << 10, 'f'));
}

TEST(PositionTest, IsReadAsWritten) {
  const CopyPosition position{1ull << 40, 0xdeadbeef, 7, 0xffffffff, 12345};
  const auto parsed = ParsePosition(PositionText(position));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(PositionText(*parsed), PositionText(position));
  EXPECT_EQ(parsed->frames, 12345u);
  for (const char* text : {"", "1", "1,2,3,4", "1,2,3,4,5,6", "1,2,3,4,5 ", "x,2,3,4,5",
                           "1,2,3,4,5;", "11111111111111111,2,3,4,5", "1,123456789,3,4,5"})
    EXPECT_FALSE(ParsePosition(text).ok()) << text;
}

// After each lost connection variables come again.
TEST(NamesElsewhereTest, WhatComesAgainTakesNoMoreRoom) {
  NamesElsewhere names;
  const ModuleInfo module{.path = "/lib/a.so", .build_id = "1"};
  const ModuleSymbols::Range large{
      .begin = 16, .end = 32, .thread_local_data = false, .name = std::string(1 << 20, 'v')};
  for (int i = 0; i < 600; ++i) EXPECT_TRUE(names.Add(module, large)) << i;
  EXPECT_TRUE(names.Add(module, 64, {{.function = "f"}}));
}

}  // namespace
}  // namespace memprof::analysis
