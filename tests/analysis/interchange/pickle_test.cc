// Pickles: what is read and how, what is refused and how it is said, and what hostile bytes do.
#include "analysis/interchange/internal/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "analysis/interchange/internal/pickle_writer.h"
#include "analysis/report/report.h"
#include "tests/analysis/interchange/toy_allocator.h"

namespace memprof::analysis {
namespace {

using Kind = PickleValue::Kind;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::string_literals;

// A pickle is read from a string that outlives it.
struct Parsed {
  explicit Parsed(std::string text) : bytes(std::move(text)), pickle(Pickle::Parse(bytes)) {}
  std::string bytes;
  absl::StatusOr<Pickle> pickle;

  std::string error() const { return std::string(pickle.status().message()); }
};

// One value: protocol 4, `opcodes`, STOP.
std::string Of(const std::string& opcodes) { return "\x80\x04" + opcodes + "."; }

PickleValue Root(const Parsed& parsed) {
  EXPECT_TRUE(parsed.pickle.ok()) << parsed.pickle.status();
  return parsed.pickle.ok() ? parsed.pickle->root() : PickleValue();
}

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
  EXPECT_EQ(Root(bytes).Text(), "");  // bytes are no text
}

// As Python 3 writes {"a": [1, 2], "b": (3,), "c": ()} in protocols 2, 3 and 4.
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
    EXPECT_TRUE(pickle.Items(pickle.root()).empty());  // no list
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
  // Slots out of order, and put anew.
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

// Whatever could run code, and whatever plain data does not need.
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

// Exactly the opcodes of the list get through; no other byte does.
TEST(PickleRefusalTest, NoOtherOpcodeIsKnown) {
  const std::string taken =
      "(.01GJKMNX]ael)t}dsuhjqrBC\x80\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x94\x95";
  for (int opcode = 0; opcode < 256; ++opcode) {
    const bool known = taken.find(static_cast<char>(opcode)) != std::string::npos;
    const std::string error = Parsed("\x80\x04"s + static_cast<char>(opcode)).error();
    EXPECT_EQ(error.find("is refused") == std::string::npos, known) << opcode << error;
  }
}

// The classic: a pickle that runs a shell.
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
    EXPECT_THAT(parsed.error(), HasSubstr("takes more than it put down")) << opcodes;
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
  // Without marks, any depth costs nothing but the containers: nobody walks down.
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
                HasSubstr("takes more memory"));
  }
  std::string growing = "]";  // one list, ever longer; the stack stays short
  for (int i = 0; i < 2000; ++i) growing += "(NNNNe";
  EXPECT_THAT(std::string(Pickle::Parse(Of(growing), limits).status().message()),
              HasSubstr("takes more memory"));
  const std::string modest = Of(std::string(200, ']'));
  EXPECT_TRUE(Pickle::Parse(modest, limits).ok());
}

// A real file, cut everywhere: always one line, never a crash.
TEST(PickleHostileTest, EveryCutIsSeen) {
  const std::string bytes = testing::ReadData("torch_snapshot_oom.pickle");
  ASSERT_TRUE(Pickle::Parse(bytes).ok());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(Pickle::Parse(std::string_view(bytes).substr(0, size)).ok()) << size;
}

// Real files with bytes changed, taken out or doubled: whatever is read then is also imported.
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
  EXPECT_GT(read, 100);  // the others of the 3,000 were refused
}

// Random values, written and read.
class RoundTrip {
 public:
  explicit RoundTrip(std::uint64_t seed) : random_(seed) {}

  void Write(PickleWriter& out, int depth) {
    switch (random_() % (depth > 0 ? 7 : 5)) {
      case 0:
        return Scalar(out);
      case 1: {
        const std::uint64_t value = random_() >> (random_() % 64);
        expected_ += std::to_string(value) + ",";
        return out.Integer(value);
      }
      case 2: {
        const auto value = static_cast<std::int64_t>(random_());
        expected_ += (value < 0 ? "s" : "") + std::to_string(value) + ",";
        return out.Negative(value);
      }
      case 3: {
        const std::string text(random_() % 400, static_cast<char>('a' + random_() % 3));
        expected_ += "'" + text + "',";
        return out.Text(text);
      }
      case 4:
        expected_ += "(5,700,),";
        return out.Pair(5, 700);
      case 5:
        out.BeginList();
        expected_ += "[";
        for (std::uint64_t i = Size(); i > 0; --i) {
          out.Item();
          Write(out, depth - 1);
        }
        expected_ += "],";
        return out.EndList();
      default:
        out.BeginDict();
        expected_ += "{";
        for (std::uint64_t i = Size(); i > 0; --i) {
          out.Key("key" + std::to_string(i % 5));
          expected_ += "'key" + std::to_string(i % 5) + "',";
          Write(out, depth - 1);
        }
        expected_ += "},";
        return out.EndDict();
    }
  }
  static std::string Describe(const Pickle& pickle, PickleValue value) {
    std::string text;
    const auto inner = [&](std::span<const PickleValue> items, char open, char close) {
      text += open;
      for (const PickleValue item : items) text += Describe(pickle, item);
      return text + close + ",";
    };
    switch (value.kind()) {
      case Kind::kNone:
        return "None,";
      case Kind::kBool:
        return value.True() ? "True," : "False,";
      case Kind::kFloat:
        return "f" + std::to_string(value.Float()) + ",";
      case Kind::kInteger:
        return value.Signed() < 0 && value.Unsigned() == 0
                   ? "s" + std::to_string(value.Signed()) + ","
                   : std::to_string(value.Unsigned()) + ",";
      case Kind::kText:
        return "'" + std::string(value.Text()) + "',";
      case Kind::kList:
        return inner(pickle.Items(value), '[', ']');
      case Kind::kTuple:
        return inner(pickle.Items(value), '(', ')');
      case Kind::kDict:
        return inner(pickle.Pairs(value), '{', '}');
      default:
        return "?";
    }
  }
  const std::string& expected() const { return expected_; }

 private:
  // Now and then more than one batch.
  std::uint64_t Size() {
    const bool many = !large_ && random_() % 8 == 0;
    large_ |= many;
    return many ? 990 + random_() % 1100 : random_() % 4;
  }
  void Scalar(PickleWriter& out) {
    switch (random_() % 3) {
      case 0:
        expected_ += "None,";
        return out.None();
      case 1:
        expected_ += "True,";
        return out.Bool(true);
      default:
        expected_ += "f" + std::to_string(-2.25) + ",";
        return out.Float(-2.25);
    }
  }
  std::mt19937_64 random_;
  bool large_ = false;
  std::string expected_;
};

TEST(PickleWriterTest, RandomValuesComeBack) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::string bytes;
    PickleWriter out([&bytes](std::string_view piece) {
      bytes += piece;
      return true;
    });
    RoundTrip trip(seed);
    out.BeginList();
    out.Item();
    trip.Write(out, 5);
    out.EndList();
    ASSERT_TRUE(out.Finish());
    const Parsed parsed(bytes);
    ASSERT_TRUE(parsed.pickle.ok()) << parsed.pickle.status();
    ASSERT_EQ(RoundTrip::Describe(*parsed.pickle, Root(parsed)), "[" + trip.expected() + "],")
        << seed;
  }
}

TEST(PickleWriterTest, TextIsWrittenOnceAndObjectsByReference) {
  std::string bytes;
  PickleWriter out([&bytes](std::string_view piece) {
    bytes += piece;
    return true;
  });
  out.BeginList();
  const std::uint32_t list = out.Memoize();
  out.Item();
  out.Text("word");
  out.Item();
  out.Text("word");
  out.Item();
  out.Get(list);
  out.EndList();
  ASSERT_TRUE(out.Finish());
  EXPECT_EQ(bytes,
            "\x80\x04]\x94(\x8c\x04word\x94h\x01h\x00"
            "e."s);
}

// A browser passes the items of a batch as arguments of one call.
TEST(PickleWriterTest, BatchesOfAThousand) {
  std::string bytes;
  PickleWriter out([&bytes](std::string_view piece) {
    bytes += piece;
    return true;
  });
  out.BeginList();
  for (int i = 0; i < 2001; ++i) {
    out.Item();
    out.None();
  }
  out.EndList();
  ASSERT_TRUE(out.Finish());
  const std::string batch = "(" + std::string(1000, 'N') + "e";
  EXPECT_EQ(bytes, "\x80\x04]" + batch + batch + "(Ne.");
}

TEST(PickleWriterTest, ManySlotsAndABadSink) {
  std::size_t calls = 0;
  PickleWriter failing([&calls](std::string_view) { return ++calls < 2; });
  std::string bytes;
  PickleWriter out([&bytes](std::string_view piece) {
    bytes += piece;
    return true;
  });
  for (PickleWriter* writer : {&failing, &out}) {
    writer->BeginList();
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 60'000; ++i) {
        writer->Item();
        writer->Text("text " + std::to_string(i));
      }
    }
    writer->EndList();
  }
  EXPECT_FALSE(failing.Finish());
  EXPECT_EQ(calls, 2u);
  ASSERT_TRUE(out.Finish());
  const Parsed parsed(bytes);
  const auto items = parsed.pickle->Items(Root(parsed));
  ASSERT_EQ(items.size(), 120'000u);
  for (const std::size_t i : {0, 255, 256, 59'999}) {
    EXPECT_EQ(items[i].Text(), "text " + std::to_string(i));
    EXPECT_EQ(items[60'000 + i].Text(), items[i].Text());
  }
}

}  // namespace
}  // namespace memprof::analysis
