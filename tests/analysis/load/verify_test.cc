// What `memprof verify` finds, and that it finds nothing in a valid log.
#include "analysis/load/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/testing/log_builder.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::LogBuilder;
using testing::TempDirectory;

class VerifyTest : public ::testing::Test {
 protected:
  VerifyTest() {
    const int stack = log_.Stack({"main (a.py:1)"});
    for (int i = 0; i < 50; ++i)
      log_.Alloc(Layer::kLinear, 0x1000u * (i + 1), 64, {.stack = stack, .api = "cuMemAlloc_v2"});
  }
  VerifyResult Verify(const std::string& bytes) {
    auto result = VerifyLog(directory_.Write("v.mprof", bytes));
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : VerifyResult();
  }
  std::uint64_t OffsetOf(const std::string& bytes, log::ChunkKind kind) {
    auto reader = LogReader::Open(directory_.Write("o.mprof", bytes), LogReader::Mode::kScan);
    for (const Chunk& chunk : (*reader)->chunks())
      if (chunk.kind() == kind) return chunk.offset;
    return 0;
  }

  TempDirectory directory_;
  LogBuilder log_;
};

TEST_F(VerifyTest, SoundLogs) {
  const VerifyResult whole = Verify(log_.Bytes({.events_per_chunk = 20}));
  EXPECT_THAT(whole.problems, ElementsAre());
  EXPECT_TRUE(whole.complete);
  EXPECT_TRUE(whole.has_index);
  EXPECT_EQ(whole.events, 50u);
  EXPECT_EQ(whole.format_version, 1u);
  ASSERT_EQ(whole.kinds.size(), 6u);
  EXPECT_EQ(whole.kinds[2].name, "events");
  EXPECT_EQ(whole.kinds[2].chunks, 3u);
  EXPECT_GT(whole.kinds[2].raw_bytes, whole.kinds[2].stored_bytes / 4);
  const VerifyResult open = Verify(log_.Bytes({.trailer = false}));
  EXPECT_TRUE(open.sound());
  EXPECT_FALSE(open.complete);
  EXPECT_FALSE(open.has_index);
}

TEST_F(VerifyTest, DamageIsNamedWithItsPlace) {
  std::string bytes = log_.Bytes({.events_per_chunk = 20});
  const std::uint64_t offset = OffsetOf(bytes, log::ChunkKind::kEvents);
  bytes[offset + 30] ^= 1;
  const VerifyResult result = Verify(bytes);
  ASSERT_EQ(result.damage.size(), 1u);
  EXPECT_EQ(result.damage[0].begin, offset);
  EXPECT_THAT(result.problems, Contains(HasSubstr("at offset " + std::to_string(offset))));
  EXPECT_THAT(result.problems, Contains(HasSubstr("bad checksum")));
  EXPECT_THAT(result.problems, Contains(HasSubstr("trailer counts 50 events")));
  EXPECT_THAT(result.problems, Contains(HasSubstr("index does not agree")));
}

TEST_F(VerifyTest, CutLog) {
  const std::string bytes = log_.Bytes();
  const VerifyResult result = Verify(bytes.substr(0, bytes.size() - 3));
  EXPECT_THAT(result.problems, Contains(HasSubstr("ends inside a chunk")));
  EXPECT_FALSE(result.complete);
}

TEST_F(VerifyTest, IdsThatNothingDefines) {
  log_.Alloc(Layer::kLinear, 0x9000, 64, {.stack = 77});
  log_.Event(Op::kSnapshot, Layer::kUnspecified, 0, 0, 99, {});
  EXPECT_THAT(Verify(log_.Bytes()).problems, ElementsAre(HasSubstr("2 ids are used before")));
}

TEST_F(VerifyTest, ForeignFilesAreErrors) {
  EXPECT_EQ(VerifyLog(directory_.File("none")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(VerifyLog(directory_.Write("x", "text, not a log")).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace memprof::analysis
