// Files of chunks that are deliberately damaged.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "analysis/load/load.h"
#include "analysis/log/reader.h"
#include "analysis/store/session.h"
#include "analysis/testing/log_builder.h"
#include "proto/crc32c.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis::testing {

inline std::string Chunk(log::ChunkKind kind, std::string payload, std::uint32_t events = 0,
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

  // Offsets of the chunks of `bytes`, a valid log.
  std::vector<analysis::Chunk> Chunks(const std::string& bytes) {
    auto reader = LogReader::Open(directory_.Write("chunks.mprof", bytes), LogReader::Mode::kScan);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return (*reader)->chunks();
  }

  // The error for a file with this content: one line that begins with the path.
  absl::Status ErrorOf(const std::string& content) {
    const std::string path = directory_.Write("hostile.mprof", content);
    const absl::Status status = LoadLogs({path}).status();
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), ::testing::StartsWith(path + ": "));
    EXPECT_THAT(std::string(status.message()), ::testing::Not(::testing::HasSubstr("\n")));
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

}  // namespace memprof::analysis::testing
