// Limits of the reader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>

#include "analysis/log/reader.h"
#include "analysis/testing/log_builder.h"
#include "tests/analysis/log/hostile_file_fixture.h"

namespace memprof::analysis {
namespace {

using testing::Chunk;
using ::testing::HasSubstr;
using testing::HostileFileTest;

TEST_F(HostileFileTest, MalformedPayloadsWithGoodChecksums) {
  const std::string base = log_.Bytes({.trailer = false});
  const std::string op_column("\x1a\x02\x01\x01", 4);  // two events of op 1
  const std::string bad[] = {
      Chunk(log::ChunkKind::kEvents, "\xff\xff\xff", 5),                  // not a message
      Chunk(log::ChunkKind::kEvents, op_column, 2),                       // count missing
      Chunk(log::ChunkKind::kEvents, "\x10\x02", 2),                      // no ops at all
      Chunk(log::ChunkKind::kEvents, "\x10\x03" + op_column, 3),          // column too short
      Chunk(log::ChunkKind::kEvents, "\x10\x01" + op_column, 1),          // column too long
      Chunk(log::ChunkKind::kEvents, "\x10\x02\x1a\x03\x01\x01\x80", 2),  // varint cut
      Chunk(log::ChunkKind::kDefinitions, "\x0a\x7f\x01"),                // length beyond the end
      Chunk(log::ChunkKind::kDefinitions, std::string("\x42\x06\x08\x01\x12\x00\x1a\x02", 8)),
      Chunk(log::ChunkKind::kHeader, "\x80\x80\x80"),
      Chunk(log::ChunkKind::kEvents, "this is no zstd", 1, 100)};
  for (const std::string& chunk : bad) {
    const auto session = Load(base + chunk);
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(session->events().size(), 101u);
    EXPECT_EQ(CountOf(*session, log::Anomaly::kChunksCorrupt), 1u) << (&chunk - bad);
  }
}

TEST_F(HostileFileTest, FramesBeyondTheLimits) {
  log::ChunkFrame frame{};
  frame.sync = log::kChunkSync;
  frame.stored_bytes = frame.raw_bytes = 100;
  EXPECT_TRUE(FramePlausible(frame));
  frame.raw_bytes = 101;
  EXPECT_FALSE(FramePlausible(frame));  // not compressed, but the sizes differ
  frame.flags = log::kChunkZstd;
  frame.raw_bytes = (4u << 20) + 25600;
  EXPECT_TRUE(FramePlausible(frame));
  ++frame.raw_bytes;
  EXPECT_FALSE(FramePlausible(frame));  // impossible compression ratio
  frame.stored_bytes = log::kMaxStoredBytes;
  frame.raw_bytes = log::kMaxRawBytes + 1;
  EXPECT_FALSE(FramePlausible(frame));
  frame.raw_bytes = frame.stored_bytes;
  frame.events = log::kMaxEventsPerChunk + 1;
  EXPECT_FALSE(FramePlausible(frame));
}

// A few hundred bytes per chunk, each claiming 65,536 events: 6 MB of columns for each chunk.
TEST_F(HostileFileTest, EventBombIsRefusedBeforeItIsUnpacked) {
  log::Events events;
  events.set_count(log::kMaxEventsPerChunk);
  for (std::uint32_t i = 0; i < log::kMaxEventsPerChunk; ++i) events.add_op(1);
  const std::string raw = events.SerializeAsString();
  std::string stored(ZSTD_compressBound(raw.size()), 0);
  stored.resize(ZSTD_compress(stored.data(), stored.size(), raw.data(), raw.size(), 3));
  const std::string chunk = Chunk(log::ChunkKind::kEvents, stored, log::kMaxEventsPerChunk,
                                  static_cast<std::uint32_t>(raw.size()));
  std::string bytes = log_.Bytes({.trailer = false});
  for (int i = 0; i < 200; ++i) bytes += chunk;
  EXPECT_THAT(std::string(ErrorOf(bytes).message()), HasSubstr("events"));
}

TEST_F(HostileFileTest, DefinitionBombIsRefused) {
  const std::string raw(4u << 20, '\x0a');  // parses as strings of ten bytes
  std::string stored(ZSTD_compressBound(raw.size()), 0);
  stored.resize(ZSTD_compress(stored.data(), stored.size(), raw.data(), raw.size(), 3));
  const std::string chunk =
      Chunk(log::ChunkKind::kDefinitions, stored, 0, static_cast<std::uint32_t>(raw.size()));
  std::string bytes = log_.Bytes({.trailer = false});
  for (int i = 0; i < 30; ++i) bytes += chunk;
  EXPECT_THAT(std::string(ErrorOf(bytes).message()), HasSubstr("tables"));
}

// Every four bytes look like the beginning of a long chunk: computing a checksum for each would
// take hours.
TEST_F(HostileFileTest, FileOfSyncsEnds) {
  log::ChunkFrame frame{};
  frame.sync = log::kChunkSync;
  frame.stored_bytes = frame.raw_bytes = 2u << 20;
  std::string bytes = log_.Bytes().substr(0, 16);
  while (bytes.size() < (4u << 20))
    bytes.append(reinterpret_cast<const char*>(&frame), sizeof frame);
  EXPECT_EQ(ErrorOf(bytes).code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace memprof::analysis
