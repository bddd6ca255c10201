// Written pickles, read back.
#include "analysis/interchange/internal/pickle_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "analysis/pickle/pickle.h"
#include "tests/analysis/interchange/pickle_fixture.h"

namespace memprof::analysis {
namespace {

using namespace std::string_literals;
using testing::Kind;
using testing::Parsed;
using testing::Root;

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
  // Sometimes more than one batch.
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

// A browser passes the items of a batch as arguments of one call, so batches must be small.
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
