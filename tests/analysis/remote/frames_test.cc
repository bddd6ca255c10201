// A stream of frames that comes in pieces, or is damaged.
#include "analysis/log/frames.h"

#include <gtest/gtest.h>

#include <random>

#include "proto/crc32c.h"
#include "proto/framing.h"

namespace memprof::analysis {
namespace {

std::vector<StreamFrame> SomeFrames() {
  std::mt19937 random(3);
  std::string noise;
  for (int i = 0; i < 3000; ++i) noise.push_back(static_cast<char>(random()));
  return {{1, ""}, {3, "short"}, {5, std::string(100'000, 'a')}, {60000, noise}, {1, ""}};
}

std::string StreamOf(const std::vector<StreamFrame>& frames) {
  std::string stream;
  for (const StreamFrame& frame : frames) AppendFrame(frame.kind, frame.payload, &stream);
  return stream;
}

// The frames before the error, if there is one.
absl::Status ReadAll(std::string_view stream, std::size_t piece, std::vector<StreamFrame>* frames) {
  FrameReader reader;
  for (; !stream.empty(); stream.remove_prefix(std::min(piece, stream.size()))) {
    reader.Add(stream.substr(0, piece));
    while (true) {
      auto frame = reader.Next();
      if (!frame.ok()) return frame.status();
      if (!frame->has_value()) break;
      frames->push_back(**std::move(frame));
    }
  }
  return absl::OkStatus();
}

void ExpectSame(const std::vector<StreamFrame>& some, const std::vector<StreamFrame>& other) {
  ASSERT_EQ(some.size(), other.size());
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_EQ(some[i].kind, other[i].kind);
    EXPECT_EQ(some[i].payload, other[i].payload);
  }
}

TEST(FramesTest, ComeInPiecesOfEverySize) {
  const std::string stream = StreamOf(SomeFrames());
  for (const std::size_t piece : {1u, 2u, 23u, 24u, 25u, 1000u, 4096u, 1'000'000u}) {
    std::vector<StreamFrame> frames;
    ASSERT_TRUE(ReadAll(stream, piece, &frames).ok()) << piece;
    ExpectSame(frames, SomeFrames());
  }
}

TEST(FramesTest, AChangedByteIsSeen) {
  const std::string stream = StreamOf(SomeFrames());
  for (std::size_t at = 0; at < stream.size(); ++at) {
    std::string damaged = stream;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    std::vector<StreamFrame> frames;
    const absl::Status status = ReadAll(damaged, 4096, &frames);
    EXPECT_TRUE(absl::IsDataLoss(status) || frames.size() < SomeFrames().size()) << at;
    frames.resize(std::min(frames.size(), SomeFrames().size()));
    const std::vector<StreamFrame> all = SomeFrames();
    ExpectSame(frames, {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(frames.size())});
  }
}

// A frame with a right checksum, whatever it says.
std::string Framed(log::ChunkFrame frame, const std::string& stored) {
  frame.sync = log::kChunkSync;
  frame.crc32c = log::Crc32c(stored.data(), stored.size(),
                             log::Crc32c(&frame, offsetof(log::ChunkFrame, crc32c)));
  return std::string(reinterpret_cast<const char*>(&frame), sizeof frame) + stored;
}

TEST(FramesTest, LengthsBeyondTheBoundsAreRefusedAtOnce) {
  log::ChunkFrame frame{};
  frame.kind = 3;
  std::vector<StreamFrame> frames;
  frame.stored_bytes = frame.raw_bytes = kMostFrameBytes + 1;
  EXPECT_TRUE(absl::IsDataLoss(ReadAll(Framed(frame, ""), 100, &frames)));
  frame.flags = log::kChunkZstd;
  frame.stored_bytes = 4;
  EXPECT_TRUE(absl::IsDataLoss(ReadAll(Framed(frame, "abcd"), 100, &frames)));
  frame.raw_bytes = 100;
  EXPECT_TRUE(absl::IsDataLoss(ReadAll(Framed(frame, "abcd"), 100, &frames))) << "not zstd's";
  frame.flags = 0;
  EXPECT_TRUE(absl::IsDataLoss(ReadAll(Framed(frame, "abcd"), 100, &frames))) << "two lengths";
  EXPECT_TRUE(frames.empty());
}

}  // namespace
}  // namespace memprof::analysis
