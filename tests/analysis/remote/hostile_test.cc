// A mirror of a stream that lies: nothing beyond its one file and its bounds.
#include <unistd.h>

#include <random>

#include "tests/analysis/remote/mirror_fixture.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::Content;
using testing::Line;
using testing::TempDirectory;

std::string Number(std::uint64_t number) {
  std::string text;
  PutNumber(number, &text);
  return text;
}

std::string FrameOf(ServeFrame kind, const std::string& payload) {
  std::string frame;
  AppendFrame(static_cast<std::uint16_t>(kind), payload, &frame);
  return frame;
}

class HostileTest : public ::testing::Test {
 protected:
  // What a mirror says to a stream after a greeting.
  absl::Status Take(const std::string& frames) {
    line_ = std::make_unique<Line>(directory_.File("copy"));
    const absl::Status greeted = line_->mirror.Take(std::string(kServeGreeting) + "1\n");
    EXPECT_TRUE(greeted.ok() && line_->mirror.greeted());
    return line_->mirror.Take(frames);
  }
  std::string Copy() const { return Content(directory_.File("copy")); }

  const TempDirectory directory_;
  std::unique_ptr<Line> line_;
};

TEST_F(HostileTest, BytesAreOnlyTakenWithinTheLogAndWithoutGaps) {
  const std::string ten = FrameOf(ServeFrame::kSize, Number(10));
  const auto bytes = [](std::uint64_t at, const std::string& text) {
    return FrameOf(ServeFrame::kBytes, Number(at) + text);
  };
  EXPECT_TRUE(Take(ten + bytes(0, "abcd") + bytes(4, "efghij")).ok());
  EXPECT_EQ(Copy(), "abcdefghij");
  EXPECT_TRUE(absl::IsDataLoss(Take(bytes(0, "a")))) << "before a size";
  EXPECT_TRUE(absl::IsDataLoss(Take(ten + bytes(0, "abcdefghijk")))) << "one too many";
  EXPECT_TRUE(absl::IsDataLoss(Take(ten + bytes(0, "abcd") + bytes(5, "f")))) << "a gap";
  EXPECT_TRUE(absl::IsDataLoss(Take(ten + bytes(~std::uint64_t{0}, "abc"))));
  EXPECT_TRUE(absl::IsDataLoss(Take(ten + bytes(~std::uint64_t{0} - 1, "abc"))));
  EXPECT_TRUE(absl::IsDataLoss(Take(ten + FrameOf(ServeFrame::kBytes, "\xff"))));
  EXPECT_LE(Copy().size(), 10u);
}

TEST_F(HostileTest, ALogThatHasNoRoomIsRefusedBeforeItComes) {
  EXPECT_TRUE(absl::IsDataLoss(Take(FrameOf(ServeFrame::kSize, Number(~std::uint64_t{0})))));
  EXPECT_TRUE(absl::IsResourceExhausted(Take(FrameOf(ServeFrame::kSize, Number(2u << 30)))));
}

TEST_F(HostileTest, AStateIsOnlyWholeWithAllItsBytes) {
  const std::string ten = FrameOf(ServeFrame::kSize, Number(10));
  EXPECT_TRUE(absl::IsDataLoss(Take(ten + FrameOf(ServeFrame::kWhole, Number(1)))));
  EXPECT_TRUE(absl::IsDataLoss(Take(FrameOf(ServeFrame::kWhole, ""))));
  EXPECT_EQ(line_->mirror.generation(), 0u);
}

TEST_F(HostileTest, KindsOfTheFutureAreSkipped) {
  EXPECT_TRUE(Take(FrameOf(static_cast<ServeFrame>(999), "x")).ok());
  EXPECT_TRUE(Take(FrameOf(ServeFrame::kAlive, "")).ok());
}

TEST_F(HostileTest, AnErrorIsOneOfSomeLength) {
  const absl::Status status =
      Take(FrameOf(ServeFrame::kEnd, Number(5) + std::string(100'000, 'x')));
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_LE(status.message().size(), 1000u);
  EXPECT_TRUE(absl::IsDataLoss(Take(FrameOf(ServeFrame::kEnd, Number(0) + "fine"))));
}

TEST_F(HostileTest, SourcesAreOfBoundedNumberAndLength) {
  std::string name;
  PutText("/home/a.py", &name);
  const std::string too_long =
      FrameOf(ServeFrame::kSources, name + std::string((1u << 20) + 1, 'x'));
  EXPECT_TRUE(Take(too_long + FrameOf(ServeFrame::kSources, "\xff\x7f")).ok());
  EXPECT_TRUE(line_->mirror.sources().empty());
  std::string many;
  for (int i = 0; i < 40; ++i) {
    std::string one;
    PutText("/home/" + std::to_string(i) + ".py", &one);
    many += FrameOf(ServeFrame::kSources, one + std::string(1u << 20, 'x'));
  }
  EXPECT_TRUE(Take(many).ok());
  EXPECT_EQ(line_->mirror.sources().size(), 32u);
}

TEST_F(HostileTest, WhatDoesNotGreetIsAnotherProgram) {
  Line line(directory_.File("copy"));
  EXPECT_TRUE(line.mirror.Take("bash: warning\n").ok());
  EXPECT_TRUE(absl::IsUnimplemented(line.mirror.Take(std::string(70'000, 'x'))));
  line.mirror.Begin();
  EXPECT_TRUE(absl::IsUnimplemented(line.mirror.Take("memprof-serve 2 3.0\n")));
  line.mirror.Begin();
  EXPECT_TRUE(line.mirror.Take("not at the begin of a line: memprof-serve 2 x\n").ok());
  EXPECT_FALSE(line.mirror.greeted());
  EXPECT_TRUE(line.mirror.Take("memprof-serve 1 3.0\n").ok());
  EXPECT_TRUE(line.mirror.greeted());
}

TEST_F(HostileTest, ALinkInPlaceOfTheCopyIsNotFollowed) {
  const std::string victim = directory_.Write("victim", "precious");
  ASSERT_EQ(symlink(victim.c_str(), directory_.File("copy").c_str()), 0);
  EXPECT_FALSE(
      Take(FrameOf(ServeFrame::kSize, Number(3)) + FrameOf(ServeFrame::kBytes, Number(0) + "abc"))
          .ok());
  EXPECT_EQ(Content(victim), "precious");
}

// Any change of any frame: an error, or the copy is as long as the size that was told at most.
TEST_F(HostileTest, ChangedPayloadsStayWithinBounds) {
  testing::RandomLog log({.seed = 1, .operations = 200});
  const std::string path = directory_.Write("log.mprof", log.builder().Bytes());
  std::vector<std::pair<std::uint16_t, std::string>> frames;
  LogServer server(path, {}, [&](const std::string& bytes) {
    FrameReader reader;
    reader.Add(bytes);
    while (true) {
      const auto frame = reader.Next();
      if (!frame.ok() || !frame->has_value()) return frame.ok();
      frames.emplace_back((*frame)->kind, (*frame)->payload);
    }
  });
  ASSERT_TRUE(server.Update().ok());
  ASSERT_GE(frames.size(), 3u);
  std::mt19937 random(9);
  for (int times = 0; times < 1000; ++times) {
    std::string stream;
    for (auto [kind, payload] : frames) {
      if (random() % 4 == 0) kind = static_cast<std::uint16_t>(1 + random() % 9);
      for (int i = 0; !payload.empty() && i < 2; ++i)
        payload[random() % std::min<std::size_t>(payload.size(), 12)] = static_cast<char>(random());
      AppendFrame(kind, payload, &stream);
    }
    Take(stream).IgnoreError();
    EXPECT_LE(line_->mirror.size(), line_->mirror.expected());
    if (line_->mirror.generation() > 0)
      LoadLogs({line_->mirror.file()}, {.find_steps = false}).IgnoreError();
  }
}

}  // namespace
}  // namespace memprof::analysis
