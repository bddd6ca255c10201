// Files that are not logs, and logs that are truncated, damaged, of a newer format or malicious.
#include "analysis/log/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "analysis/load/load.h"
#include "analysis/testing/log_builder.h"
#include "tests/analysis/log/hostile_file_fixture.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis {
namespace {

using testing::Chunk;
using ::testing::HasSubstr;
using testing::HostileFileTest;

TEST_F(HostileFileTest, MissingEmptyForeignAndCut) {
  EXPECT_EQ(LoadLogs({directory_.File("none")}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(LoadLogs({"ssh://node7/x.mprof"}).status().message()),
              HasSubstr("is on another machine"));
  EXPECT_THAT(std::string(ErrorOf("").message()), HasSubstr("empty"));
  EXPECT_THAT(std::string(ErrorOf("#!/bin/sh\necho\n").message()), HasSubstr("not a memprof log"));
  EXPECT_THAT(std::string(ErrorOf("M").message()), HasSubstr("cut off"));
  EXPECT_THAT(std::string(ErrorOf(log_.Bytes().substr(0, 15)).message()), HasSubstr("cut off"));
  EXPECT_THAT(std::string(ErrorOf(log_.Bytes().substr(0, 16)).message()), HasSubstr("cut off"));
  EXPECT_THAT(std::string(ErrorOf(log_.Bytes().substr(0, 30)).message()), HasSubstr("cut off"));
  EXPECT_EQ(ErrorOf(log_.Bytes().substr(0, 16) + std::string(5000, 'x')).code(),
            absl::StatusCode::kDataLoss);
}

// Whatever follows it.
TEST_F(HostileFileTest, TheFirstChunkAlone) {
  const auto first = [&](const std::string& bytes) {
    return LogReader::Open(directory_.Write("a.mprof", bytes), LogReader::Mode::kFirst);
  };
  const auto whole = first(log_.Bytes());
  ASSERT_TRUE(whole.ok()) << whole.status();
  ASSERT_EQ((*whole)->chunks().size(), 1u);
  EXPECT_EQ((*whole)->chunks()[0].kind(), log::ChunkKind::kHeader);
  const std::size_t end = (*whole)->chunks()[0].end();
  EXPECT_TRUE(first(log_.Bytes().substr(0, end)).ok());
  EXPECT_TRUE(first(log_.Bytes().substr(0, end) + std::string(5000, 'x')).ok());
  EXPECT_EQ(first(log_.Bytes().substr(0, end - 1)).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(first(log_.Bytes().substr(0, 16) + std::string(500, 'x')).status().code(),
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
    // Damage in the payload, in the length, and in the sync word of the frame.
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

// A damaged chunk that is complete is not a truncated tail, even if it is the last chunk.
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
