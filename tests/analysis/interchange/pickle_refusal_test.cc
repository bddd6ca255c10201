// What the reader of pickles refuses, and its limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "analysis/pickle/pickle.h"
#include "analysis/report/report.h"
#include "tests/analysis/interchange/pickle_fixture.h"
#include "tests/analysis/interchange/toy_allocator.h"

namespace memprof::analysis {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::string_literals;
using testing::Of;
using testing::Parsed;

// Opcodes that could run code, or that plain data does not need.
TEST(PickleRefusalTest, OpcodesByNameAndOffset) {
  const std::pair<char, std::string> refused[] = {{'c', "GLOBAL"},
                                                  {'R', "REDUCE"},
                                                  {'b', "BUILD"},
                                                  {'i', "INST"},
                                                  {'o', "OBJ"},
                                                  {'\x81', "NEWOBJ"},
                                                  {'\x92', "NEWOBJ_EX"},
                                                  {'\x93', "STACK_GLOBAL"},
                                                  {'P', "PERSID"},
                                                  {'Q', "BINPERSID"},
                                                  {'\x82', "EXT1"},
                                                  {'\x83', "EXT2"},
                                                  {'\x84', "EXT4"},
                                                  {'\x96', "BYTEARRAY8"},
                                                  {'\x97', "NEXT_BUFFER"},
                                                  {'2', "DUP"},
                                                  {'I', "INT"},
                                                  {'S', "STRING"},
                                                  {'g', "GET"},
                                                  {'\x8f', "EMPTY_SET"}};
  for (const auto& [opcode, name] : refused) {
    const Parsed parsed(Of("N0"s + opcode));
    EXPECT_EQ(parsed.pickle.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(parsed.error(), StartsWith("at offset 4: opcode 0x"));
    EXPECT_THAT(parsed.error(), HasSubstr("(" + name + ") is refused"));
    EXPECT_EQ(parsed.error().find('\n'), std::string::npos);
  }
  EXPECT_THAT(Parsed(Of("\xfe")).error(), HasSubstr("0xfe (no opcode of pickle)"));
}

// Exactly the listed opcodes are accepted.
TEST(PickleRefusalTest, NoOtherOpcodeIsKnown) {
  const std::string taken =
      "(.01GJKMNX]ael)t}dsuhjqrBC\x80\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x94\x95";
  for (int opcode = 0; opcode < 256; ++opcode) {
    const bool known = taken.find(static_cast<char>(opcode)) != std::string::npos;
    const std::string error = Parsed("\x80\x04"s + static_cast<char>(opcode)).error();
    EXPECT_EQ(error.find("is refused") == std::string::npos, known) << opcode << error;
  }
}

// The classic attack: a pickle that runs a shell.
TEST(PickleRefusalTest, RunsNoShell) {
  EXPECT_THAT(
      Parsed(
          "\x80\x04\x95\x20\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94."s)
          .error(),
      StartsWith("at offset 28: opcode 0x93 (STACK_GLOBAL) is refused"));
  EXPECT_THAT(Parsed("\x80\x02"
                     "cos\nsystem\n(X\x02\x00\x00\x00idtR."s)
                  .error(),
              StartsWith("at offset 2: opcode 0x63 (GLOBAL) is refused"));
}

TEST(PickleRefusalTest, WhatTakesMoreThanThereIs) {
  for (const std::string& opcodes :
       {""s, "0"s, "1"s, "a"s, "]a"s,
        "K\x01"
        "a"s,
        "e"s, "(e"s, "s"s, "}K\x01s"s, "u"s, "t"s, "\x85"s, "K\x01\x86"s, "\x94"s, "q\x00"s,
        "]((e"s, "N(\x85"s, "K\x01(a"s}) {
    const Parsed parsed(Of(opcodes));
    EXPECT_THAT(parsed.error(), HasSubstr("pops more than it pushed")) << opcodes;
  }
  EXPECT_THAT(Parsed(Of("h\x05")).error(), HasSubstr("nothing was put in slot 5"));
  EXPECT_THAT(Parsed(Of("}K\x01"
                        "a"))
                  .error(),
              HasSubstr("items are added to what is no list"));
  EXPECT_THAT(Parsed(Of("]K\x01K\x01s")).error(), HasSubstr("no dictionary"));
  EXPECT_THAT(Parsed(Of("}(K\x01u")).error(), HasSubstr("a key without a value"));
  EXPECT_THAT(Parsed(Of("(K\x01"
                        "d"))
                  .error(),
              HasSubstr("a key without a value"));
}

TEST(PickleRefusalTest, Protocols) {
  EXPECT_THAT(Parsed("").error(), HasSubstr("no pickle"));
  EXPECT_THAT(Parsed("(lp0\n.").error(), HasSubstr("no pickle of protocol 2"));
  EXPECT_THAT(Parsed("\x80\x01N.").error(), HasSubstr("protocol 1"));
  EXPECT_THAT(Parsed("\x80\x06N.").error(), HasSubstr("protocol 6"));
  EXPECT_EQ(Parsed("\x80\x05N.").pickle->protocol(), 5);
}

TEST(PickleLimitTest, NestingIsBounded) {
  const auto nested = [](std::size_t depth) {
    return Of(std::string(depth, '(') + std::string(depth, 't'));
  };
  EXPECT_TRUE(Parsed(nested(64)).pickle.ok());
  EXPECT_THAT(Parsed(nested(65)).error(), HasSubstr("nest too deeply"));
  // Without marks, deep nesting costs only memory for the containers, because it is not traversed.
  EXPECT_TRUE(Parsed(Of("N" + std::string(100'000, '\x85'))).pickle.ok());
}

TEST(PickleLimitTest, MemoryIsBounded) {
  Pickle::Limits limits;
  limits.memory_bytes = 10'000;
  limits.memory_per_byte = 1;
  for (const std::string& bomb :
       {std::string(10'000, ']'), std::string(10'000, 'N'), "]" + std::string(10'000, '\x94')}) {
    const std::string bytes = Of(bomb);
    EXPECT_THAT(std::string(Pickle::Parse(bytes, limits).status().message()),
                HasSubstr("needs more memory"));
  }
  std::string growing = "]";  // a single growing list; the stack stays small
  for (int i = 0; i < 2000; ++i) growing += "(NNNNe";
  EXPECT_THAT(std::string(Pickle::Parse(Of(growing), limits).status().message()),
              HasSubstr("needs more memory"));
  const std::string modest = Of(std::string(200, ']'));
  EXPECT_TRUE(Pickle::Parse(modest, limits).ok());
}

// A real file, truncated at every position: always an error of one line, never a crash.
TEST(PickleHostileTest, EveryCutIsSeen) {
  const std::string bytes = testing::ReadData("torch_snapshot_oom.pickle");
  ASSERT_TRUE(Pickle::Parse(bytes).ok());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(Pickle::Parse(std::string_view(bytes).substr(0, size)).ok()) << size;
}

// Real files with bytes changed, removed or duplicated. If the result can be parsed, it is also
// imported.
TEST(PickleHostileTest, DamagedSnapshots) {
  std::mt19937_64 random(3);
  int read = 0;
  for (const std::string& name : {"torch_snapshot_oom.pickle"s, "torch_snapshot_train.pickle"s}) {
    const std::string whole = testing::ReadData(name);
    for (int round = 0; round < 1500; ++round) {
      std::string bytes = whole;
      for (std::uint64_t i = 0; i <= random() % 4; ++i) {
        const std::size_t at = 2 + random() % (bytes.size() - 2);
        switch (random() % 4) {
          case 0:
            bytes[at] = static_cast<char>(random());
            break;
          case 1:
            bytes.erase(at, random() % 8);
            break;
          case 2:
            bytes.insert(at, bytes.substr(at, random() % 32));
            break;
          default:
            bytes[at] = "(]}aeu\x94h0."[random() % 10];
        }
      }
      const absl::Status status = testing::ImportStatus(bytes);
      read += status.ok();
      if (status.ok() && read % 20 == 0) BuildReport(*testing::ImportAndLoad(bytes));
      EXPECT_EQ(std::string(status.message()).find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(read, 100);  // the rest of the 3,000 were refused
}

}  // namespace
}  // namespace memprof::analysis
