// Pickles of objects: nothing is made of them but their state.
#include <gtest/gtest.h>

#include <random>

#include "analysis/pickle/pickle.h"

namespace memprof::analysis {
namespace {

using namespace std::string_literals;
using Kind = PickleValue::Kind;

// Protocol 4: `opcodes`, STOP. Keeps the bytes that the pickle refers to.
struct Objects {
  explicit Objects(const std::string& opcodes)
      : bytes("\x80\x04" + opcodes + "."), pickle(Pickle::Parse(bytes, Allowed())) {}
  static Pickle::Limits Allowed() {
    Pickle::Limits limits;
    limits.objects = true;
    return limits;
  }
  Kind kind() const { return pickle.ok() ? pickle->root().kind() : Kind::kNone; }
  std::string error() const { return std::string(pickle.status().message()); }

  std::string bytes;
  absl::StatusOr<Pickle> pickle;
};

const std::string kClass =
    "\x8c\x01m\x8c\x01"
    "C\x93";                                    // STACK_GLOBAL m.C
const std::string kObject = kClass + ")\x81";   // NEWOBJ of it without arguments
const std::string kState = "}\x8c\x01kK\x07s";  // {"k": 7}

TEST(PickleObjectsTest, AnObjectHasTheStateThatItWasGivenLast) {
  const Objects built(kObject + kState + "b");
  ASSERT_TRUE(built.pickle.ok()) << built.error();
  EXPECT_EQ(built.kind(), Kind::kObject);
  const Pickle& pickle = *built.pickle;
  EXPECT_EQ(pickle.At(pickle.State(pickle.root()), "k").Unsigned(), 7u);
  const Objects twice(kObject + kState + "bNb");
  EXPECT_EQ(twice.pickle->State(twice.pickle->root()).kind(), Kind::kNone);
  const Objects never(kObject);
  EXPECT_EQ(never.pickle->State(never.pickle->root()).kind(), Kind::kNone);
  EXPECT_EQ(pickle.State(PickleValue()).kind(), Kind::kNone);
  EXPECT_TRUE(pickle.Items(pickle.root()).empty());
  EXPECT_TRUE(pickle.Pairs(pickle.root()).empty());
}

TEST(PickleObjectsTest, EachWayToMakeOneMakesAnObject) {
  const std::vector<std::string> all = {"cm\nC\n",
                                        kClass,
                                        kClass + ")R",
                                        kObject,
                                        kClass + ")}\x92",
                                        "\x8f",
                                        "\x8f(K\x01K\x02\x90",
                                        "(K\x01\x91",
                                        "\x8c\x01iQ",
                                        kObject + "(K\x01K\x02u",
                                        kObject +
                                            "(K\x01"
                                            "e",
                                        kObject + "K\x01" + "a"};
  for (const std::string& opcodes : all) {
    const Objects object(opcodes);
    EXPECT_EQ(object.kind(), Kind::kObject) << opcodes << ": " << object.error();
  }
  EXPECT_EQ(Objects("\x8e\x02\0\0\0\0\0\0\0ab"s).kind(), Kind::kBytes);
  EXPECT_EQ(Objects("\x96\x02\0\0\0\0\0\0\0ab"s).kind(), Kind::kBytes);
}

TEST(PickleObjectsTest, WhatIsMalformedIsRefused) {
  EXPECT_EQ(Objects("Nb").error(), "at offset 3: the pickle pops more than it pushed");
  EXPECT_EQ(Objects("NNb").error(), "at offset 4: what is no object has a state");
  EXPECT_EQ(Objects("R").error(), "at offset 2: the pickle pops more than it pushed");
  EXPECT_EQ(Objects("(N\x81").error(), "at offset 4: the pickle pops more than it pushed");
  EXPECT_EQ(Objects("\x90").error(), "at offset 2: the pickle pops more than it pushed");
  EXPECT_EQ(Objects("cm\nC").error(), "at offset 2: the pickle ends before its STOP");
  EXPECT_EQ(Objects("S'a'\n").error(),
            "at offset 2: opcode 0x53 (STRING) is refused: plain data does not need it");
  const std::string whole = "\x80\x04" + kObject + ".";
  EXPECT_FALSE(Pickle::Parse(whole).ok()) << "objects were not allowed";
}

TEST(PickleObjectsTest, RandomBytesAreReadOrRefused) {
  std::mt19937 random(7);
  const std::string opcodes =
      "\x80\x81\x85\x86\x8c\x8f\x90\x91\x92\x93\x94\x96(.)0cRbQKN]}aeush\x01\n";
  int read = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = kClass + ")\x81}";
    for (unsigned i = random() % 40; i > 0; --i) bytes += opcodes[random() % opcodes.size()];
    const Objects parsed(bytes);
    read += parsed.pickle.ok();
    EXPECT_EQ(parsed.error().find('\n'), std::string::npos);
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace memprof::analysis
