// The bytes of a frame are at the offsets that docs/log-format.md gives, and the anomaly table is
// consistent.
#include "proto/framing.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <set>
#include <string>

#include "proto/anomalies.h"

namespace memprof::log {
namespace {

TEST(FramingTest, FieldsLieWhereTheFormatSays) {
  EXPECT_EQ(offsetof(FileHeader, version), 8u);
  EXPECT_EQ(offsetof(FileHeader, reader_version), 12u);
  EXPECT_EQ(offsetof(ChunkFrame, sync), 0u);
  EXPECT_EQ(offsetof(ChunkFrame, kind), 4u);
  EXPECT_EQ(offsetof(ChunkFrame, flags), 6u);
  EXPECT_EQ(offsetof(ChunkFrame, stored_bytes), 8u);
  EXPECT_EQ(offsetof(ChunkFrame, raw_bytes), 12u);
  EXPECT_EQ(offsetof(ChunkFrame, events), 16u);
  EXPECT_EQ(offsetof(ChunkFrame, crc32c), 20u);
}

TEST(FramingTest, SyncReadsAsText) {
  char text[5] = {};
  std::memcpy(text, &kChunkSync, 4);
  EXPECT_STREQ(text, "PCHK");
  EXPECT_EQ(std::string(kMagic, 8), "MEMPROF\n");
}

TEST(FramingTest, WriterStaysBelowTheLimitsOfReaders) {
  EXPECT_LE(kEventsPerChunk, kMaxEventsPerChunk);
  // 17 columns with at most ten bytes for each entry.
  EXPECT_LT(std::uint64_t{kEventsPerChunk} * 17 * 10, kMaxRawBytes);
}

// A reader allocates the size that a frame claims only within these limits, and the claim fits its
// field.
TEST(FramingTest, LimitsFitTheFieldsAndAChunkIsNeverHuge) {
  EXPECT_LE(kMaxStoredBytes, kMaxRawBytes);
  EXPECT_LE(std::uint64_t{kMaxRawBytes} + kMaxStoredBytes, std::uint64_t{256} << 20);
  EXPECT_EQ(sizeof(FileHeader) % alignof(ChunkFrame), 0u);
  EXPECT_LT(static_cast<int>(ChunkKind::kTrailer), 0xffff);
}

// Existing files contain these numbers, so they must never change.
TEST(FramingTest, KindsKeepTheirNumbers) {
  EXPECT_EQ(static_cast<int>(ChunkKind::kHeader), 1);
  EXPECT_EQ(static_cast<int>(ChunkKind::kDefinitions), 2);
  EXPECT_EQ(static_cast<int>(ChunkKind::kEvents), 3);
  EXPECT_EQ(static_cast<int>(ChunkKind::kCounters), 4);
  EXPECT_EQ(static_cast<int>(ChunkKind::kIndex), 5);
  EXPECT_EQ(static_cast<int>(ChunkKind::kTrailer), 6);
  EXPECT_EQ(static_cast<int>(ChunkKind::kSources), 7);
  EXPECT_EQ(kChunkZstd, 1);
  EXPECT_EQ(kFormatVersion, 1u);
}

TEST(AnomaliesTest, NamesAreDistinctAndAdviceIsThere) {
  std::set<std::string> names;
  int count = 0;
#define MEMPROF_CHECK(identifier, name, severity, advice) \
  EXPECT_TRUE(names.insert(name).second) << name;         \
  EXPECT_GT(std::strlen(advice), 20u) << name;            \
  EXPECT_LE(Severity::severity, Severity::kError);        \
  EXPECT_EQ(static_cast<int>(Anomaly::identifier), count++);
  MEMPROF_ANOMALIES(MEMPROF_CHECK)
#undef MEMPROF_CHECK
  EXPECT_EQ(count, static_cast<int>(Anomaly::kCount));
}

}  // namespace
}  // namespace memprof::log
