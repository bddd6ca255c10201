// Files that are no logs, and logs that are cut, damaged, from the future or a trap.
#include "analysis/log/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cstring>

#include "analysis/load/load.h"
#include "analysis/store/session.h"
#include "analysis/testing/log_builder.h"
#include "proto/crc32c.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis {
namespace {

using ::testing::HasSubstr;
using testing::LogBuilder;
using ::testing::Not;
using testing::TempDirectory;

std::string Chunk(log::ChunkKind kind, std::string payload, std::uint32_t events = 0,
                  std::uint32_t zstd_raw_bytes = 0) {
  log::ChunkFrame frame{};
  frame.sync = log::kChunkSync;
  frame.kind = static_cast<std::uint16_t>(kind);
  frame.flags = zstd_raw_bytes != 0 ? log::kChunkZstd : 0;
  frame.stored_bytes = static_cast<std::uint32_t>(payload.size());
  frame.raw_bytes = zstd_raw_bytes != 0 ? zstd_raw_bytes : frame.stored_bytes;
  frame.events = events;
  frame.crc32c = log::Crc32c(payload.data(), payload.size(), log::Crc32c(&frame, 20));
  return std::string(reinterpret_cast<const char*>(&frame), sizeof frame) + payload;
}

class HostileFileTest : public ::testing::Test {
 protected:
  HostileFileTest() {
    log_.Step(0);
    for (int i = 0; i < 100; ++i) log_.Alloc(Layer::kLinear, 0x1000u * (i + 1), 64);
  }

  // Offsets of the chunks of `bytes`, a sound log.
  std::vector<analysis::Chunk> Chunks(const std::string& bytes) {
    auto reader = LogReader::Open(directory_.Write("chunks.mprof", bytes), LogReader::Mode::kScan);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return (*reader)->chunks();
  }

  // The error of a file with this content: one line that begins with the path.
  absl::Status ErrorOf(const std::string& content) {
    const std::string path = directory_.Write("hostile.mprof", content);
    const absl::Status status = LoadLogs({path}).status();
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), ::testing::StartsWith(path + ": "));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n")));
    return status;
  }

  std::shared_ptr<const Session> Load(const std::string& content) {
    auto session = LoadLogs({directory_.Write("log.mprof", content)});
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *session : nullptr;
  }

  static std::uint64_t CountOf(const Session& session, log::Anomaly anomaly) {
    for (const AnomalyCount& count : session.anomalies())
      if (count.anomaly == anomaly) return count.count;
    return 0;
  }

  TempDirectory directory_;
  LogBuilder log_;
  const LogBuilder::WriteOptions small_chunks_ = {.events_per_chunk = 10};
};

TEST_F(HostileFileTest, MissingEmptyForeignAndCut) {
  EXPECT_EQ(LoadLogs({directory_.File("none")}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ErrorOf("").message()), HasSubstr("empty"));
  EXPECT_THAT(std::string(ErrorOf("#!/bin/sh\necho\n").message()), HasSubstr("not a memprof log"));
  EXPECT_THAT(std::string(ErrorOf("M").message()), HasSubstr("cut off"));
  EXPECT_THAT(std::string(ErrorOf(log_.Bytes().substr(0, 15)).message()), HasSubstr("cut off"));
  EXPECT_THAT(std::string(ErrorOf(log_.Bytes().substr(0, 16)).message()), HasSubstr("cut off"));
  EXPECT_THAT(std::string(ErrorOf(log_.Bytes().substr(0, 30)).message()), HasSubstr("cut off"));
  EXPECT_EQ(ErrorOf(log_.Bytes().substr(0, 16) + std::string(5000, 'x')).code(),
            absl::StatusCode::kDataLoss);
}

TEST_F(HostileFileTest, DirectoriesAndPipesDoNotBlock) {
  EXPECT_THAT(std::string(LoadLogs({directory_.File("")}).status().message()),
              HasSubstr("directory"));
  const std::string pipe = directory_.File("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(std::string(LoadLogs({pipe}).status().message()), HasSubstr("regular file"));
}

TEST_F(HostileFileTest, UnreadableFile) {
  const std::string path = directory_.Write("secret.mprof", log_.Bytes());
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  const bool root = geteuid() == 0;  // who may read everything
  ASSERT_EQ(root ? seteuid(65534) : 0, 0);
  const absl::Status status = LoadLogs({path}).status();
  ASSERT_EQ(root ? seteuid(0) : 0, 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
}

TEST_F(HostileFileTest, FutureFormat) {
  std::string bytes = log_.Bytes();
  bytes[8] = 3;  // written in format 3, which a reader of format 1 …
  EXPECT_NE(Load(bytes), nullptr);
  bytes[12] = 2;  // … cannot make sense of
  const absl::Status status = ErrorOf(bytes);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("log format 3"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("newer memprof"));
}

TEST_F(HostileFileTest, EveryCutKeepsWhatCameBefore) {
  const std::string bytes = log_.Bytes(small_chunks_);
  const std::vector<analysis::Chunk> chunks = Chunks(bytes);
  for (std::size_t size = chunks[1].end(); size < bytes.size(); size += 7) {
    std::uint64_t events = 0;
    bool at_boundary = false;
    for (const analysis::Chunk& chunk : chunks) {
      if (chunk.end() <= size) events += chunk.frame.events;
      at_boundary |= chunk.end() == size;
    }
    const auto session = Load(bytes.substr(0, size));
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(session->events().size(), events) << size;
    EXPECT_FALSE(session->run().complete);
    EXPECT_EQ(CountOf(*session, log::Anomaly::kTailCut), at_boundary ? 0u : 1u) << size;
    EXPECT_EQ(CountOf(*session, log::Anomaly::kChunksCorrupt), 0u) << size;
  }
}

TEST_F(HostileFileTest, DamagedChunksAreLeftOut) {
  const std::string sound = log_.Bytes(small_chunks_);
  const std::vector<analysis::Chunk> chunks = Chunks(sound);
  for (const analysis::Chunk& chunk : chunks) {
    if (chunk.kind() != log::ChunkKind::kEvents) continue;
    // In the payload, in the length, and in the sync of the frame.
    for (const std::uint64_t where : {chunk.end() - 1, chunk.offset + 10, chunk.offset}) {
      std::string bytes = sound;
      bytes[where] ^= 0x55;
      const auto session = Load(bytes);
      ASSERT_NE(session, nullptr);
      EXPECT_EQ(session->events().size(), 101u - chunk.frame.events);
      EXPECT_EQ(CountOf(*session, log::Anomaly::kChunksCorrupt), 1u);
      EXPECT_TRUE(session->run().complete);
    }
  }
}

// A chunk that is all there was not cut off by the end of the file, even if it is the last.
TEST_F(HostileFileTest, ADamagedLastChunkIsNoCutTail) {
  const std::string sound = log_.Bytes({.events_per_chunk = 10, .trailer = false});
  const analysis::Chunk last = Chunks(sound).back();
  std::string bytes = sound;
  bytes[last.end() - 1] ^= 0x55;
  const auto damaged = Load(bytes);
  ASSERT_NE(damaged, nullptr);
  EXPECT_EQ(CountOf(*damaged, log::Anomaly::kChunksCorrupt), 1u);
  EXPECT_EQ(CountOf(*damaged, log::Anomaly::kTailCut), 0u);
  const auto cut = Load(sound.substr(0, last.end() - 1));
  ASSERT_NE(cut, nullptr);
  EXPECT_EQ(CountOf(*cut, log::Anomaly::kChunksCorrupt), 0u);
  EXPECT_EQ(CountOf(*cut, log::Anomaly::kTailCut), 1u);
}

TEST_F(HostileFileTest, DamagedIndexIsRebuilt) {
  const std::string sound = log_.Bytes(small_chunks_);
  const std::vector<analysis::Chunk> chunks = Chunks(sound);
  const analysis::Chunk& index = chunks[chunks.size() - 2];
  ASSERT_EQ(index.kind(), log::ChunkKind::kIndex);
  auto reader = LogReader::Open(directory_.Write("a.mprof", sound), LogReader::Mode::kUseIndex);
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE((*reader)->used_index());
  std::string bytes = sound;
  bytes[index.end() - 1] ^= 1;
  reader = LogReader::Open(directory_.Write("a.mprof", bytes), LogReader::Mode::kUseIndex);
  ASSERT_TRUE(reader.ok());
  EXPECT_FALSE((*reader)->used_index());
  EXPECT_EQ((*reader)->chunks().size(), chunks.size() - 1);
  const auto session = Load(bytes);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->events().size(), 101u);
}

TEST_F(HostileFileTest, UnknownKindsAndFlagsAreSkipped) {
  const std::string bytes = log_.Bytes({.trailer = false});
  const auto session = Load(bytes + Chunk(static_cast<log::ChunkKind>(77), "from the future") +
                            Chunk(log::ChunkKind::kCounters, ""));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->events().size(), 101u);
  EXPECT_EQ(CountOf(*session, log::Anomaly::kChunksUnknown), 1u);
  EXPECT_EQ(CountOf(*session, log::Anomaly::kChunksCorrupt), 0u);
}

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
  EXPECT_FALSE(FramePlausible(frame));  // not compressed, yet of another size
  frame.flags = log::kChunkZstd;
  frame.raw_bytes = (4u << 20) + 25600;
  EXPECT_TRUE(FramePlausible(frame));
  ++frame.raw_bytes;
  EXPECT_FALSE(FramePlausible(frame));  // compressed beyond belief
  frame.stored_bytes = log::kMaxStoredBytes;
  frame.raw_bytes = log::kMaxRawBytes + 1;
  EXPECT_FALSE(FramePlausible(frame));
  frame.raw_bytes = frame.stored_bytes;
  frame.events = log::kMaxEventsPerChunk + 1;
  EXPECT_FALSE(FramePlausible(frame));
}

// A few hundred bytes a chunk, each claiming 65,536 events: 6 MB of columns apiece.
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
  const std::string raw(4u << 20, '\x0a');  // reads as strings of ten bytes
  std::string stored(ZSTD_compressBound(raw.size()), 0);
  stored.resize(ZSTD_compress(stored.data(), stored.size(), raw.data(), raw.size(), 3));
  const std::string chunk =
      Chunk(log::ChunkKind::kDefinitions, stored, 0, static_cast<std::uint32_t>(raw.size()));
  std::string bytes = log_.Bytes({.trailer = false});
  for (int i = 0; i < 30; ++i) bytes += chunk;
  EXPECT_THAT(std::string(ErrorOf(bytes).message()), HasSubstr("tables"));
}

// Every four bytes look like the beginning of a long chunk: a checksum for each would take hours.
TEST_F(HostileFileTest, FileOfSyncsEnds) {
  log::ChunkFrame frame{};
  frame.sync = log::kChunkSync;
  frame.stored_bytes = frame.raw_bytes = 2u << 20;
  std::string bytes = log_.Bytes().substr(0, 16);
  while (bytes.size() < (4u << 20))
    bytes.append(reinterpret_cast<const char*>(&frame), sizeof frame);
  EXPECT_EQ(ErrorOf(bytes).code(), absl::StatusCode::kDataLoss);
}

TEST_F(HostileFileTest, DropBehindForgetsTheRest) {
  const std::string bytes = log_.Bytes(small_chunks_) + "PCHK";
  auto reader = LogReader::Open(directory_.Write("a.mprof", bytes), LogReader::Mode::kScan);
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE((*reader)->tail_cut());
  const std::vector<analysis::Chunk> chunks = (*reader)->chunks();
  (*reader)->DropBehind(chunks[4].end() + 3);
  EXPECT_EQ((*reader)->chunks().size(), 5u);
  EXPECT_FALSE((*reader)->tail_cut());
}

}  // namespace
}  // namespace memprof::analysis
