// Patterns of copies and memsets: cases that match each pattern, and near misses that must not.
#include <gtest/gtest.h>

#include "tests/analysis/advice/scenario.h"

namespace memprof::analysis {
namespace {

using testing::Scenario;

constexpr std::uint64_t kHost = 0x5000'0000;

TEST(AdviceDeadWriteTest, OverwrittenUnread) {
  Scenario s;
  const auto a = s.Alloc("Buffer", kMiB);
  s.Memset(a + 100, 1000);
  s.Upload(a, kHost, kMiB);  // overwrites all of it
  s.Launch({a});
  const auto found = s.Of(s.Advice(), Pattern::kDeadWrite);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].count, 1u);
  EXPECT_EQ(found[0].moved_bytes, 1000u);
  EXPECT_FALSE(found[0].peak_of.has_value());
  EXPECT_EQ(found[0].examples[0].what, "overwritten unread");
}

TEST(AdviceDeadWriteTest, FreedUnread) {
  Scenario s;
  const auto a = s.Alloc("Buffer", kMiB);
  s.Upload(a, kHost, kMiB);
  s.Free(a);
  const auto found = s.Of(s.Advice(), Pattern::kDeadWrite);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].examples[0].what, "freed unread");
  EXPECT_EQ(found[0].moved_bytes, kMiB);
}

TEST(AdviceDeadWriteTest, NearMisses) {
  Scenario s;
  const auto read = s.Alloc("Read", kMiB), kernel = s.Alloc("Kernel", kMiB);
  const auto part = s.Alloc("Part", kMiB), unknown = s.Alloc("Unknown", kMiB);
  const auto alive = s.Alloc("Alive", kMiB), managed = s.Alloc("Managed", kMiB, Layer::kManaged);
  s.Memset(read, kMiB);
  s.Download(kHost, read + 10, 10);
  s.Memset(read, kMiB);  // after a copy from it
  s.Download(kHost, read, 10);
  s.Memset(kernel, kMiB);
  s.Launch({kernel + 64});
  s.Memset(kernel, kMiB);  // after a kernel that may have read it
  s.Launch({kernel});
  s.Memset(part, 1000);
  s.Memset(part + 1, 1000);  // does not cover the first byte
  s.Launch({part});
  s.Memset(unknown, kMiB);
  s.Launch();
  s.Memset(unknown, kMiB);  // after a launch that may have used anything
  s.Launch({unknown});
  s.Memset(managed, kMiB);
  s.Memset(managed, kMiB);  // the host may have read it
  s.Memset(alive, kMiB);    // no later use in the log
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kDeadWrite).empty());
}

TEST(AdviceDeadWriteTest, WhatIsCapturedMovesNothing) {
  Scenario s;
  const auto a = s.Alloc("Buffer", kMiB), b = s.Alloc("Other", kMiB);
  s.Launch({a, b});
  s.CaptureMemset(a, kMiB);
  s.CaptureCopy(b, a, kMiB);
  s.CaptureCopy(b, a, kMiB);  // the same nodes again, in another graph
  s.CaptureMemset(a, kMiB);
  for (int launch = 0; launch < 5; ++launch) s.Launch();  // launches of the graphs
  s.Free(a);
  s.Free(b);
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kDeadWrite).empty());
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kDuplicateTransfer).empty());
}

TEST(AdviceDeadWriteTest, WhatIsCapturedCountsAsUse) {
  Scenario s;
  const auto a = s.Alloc("Buffer", kMiB);
  s.Memset(a, kMiB);
  s.CaptureCopy(a + 4096, kHost, 100);  // a node that may read or write it
  s.Memset(a, kMiB);
  s.Launch({a});
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kDeadWrite).empty());
}

TEST(AdviceDuplicateTest, DownloadedTwice) {
  Scenario s;
  const auto a = s.Alloc("Weights", 2 * kMiB);
  s.Launch({a});
  s.Download(kHost, a, 2 * kMiB);
  s.OtherLaunch();
  s.Download(kHost, a, 2 * kMiB);
  const auto found = s.Of(s.Advice(), Pattern::kDuplicateTransfer);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].moved_bytes, 2 * kMiB);
  EXPECT_EQ(found[0].count, 1u);
  EXPECT_EQ(s.SiteOf(found[0].stack), "Weights");
}

TEST(AdviceDuplicateTest, CopiedTwiceOnTheDevice) {
  Scenario s;
  const auto a = s.Alloc("From", kMiB), b = s.Alloc("To", kMiB);
  for (int i = 0; i < 3; ++i) s.Copy(b, a, kMiB, 3);
  const auto found = s.Of(s.Advice(), Pattern::kDuplicateTransfer);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].count, 2u);
}

TEST(AdviceDuplicateTest, NearMisses) {
  Scenario s;
  const auto changed = s.Alloc("Changed", kMiB), unknown = s.Alloc("Unknown", kMiB);
  const auto from = s.Alloc("From", kMiB), to = s.Alloc("To", kMiB);
  s.Download(kHost, changed, kMiB);
  s.Launch({changed});  // may have written
  s.Download(kHost, changed, kMiB);
  s.Memset(changed + 8, 8);
  s.Download(kHost, changed, kMiB);
  s.Download(kHost + 2 * kMiB, unknown, kMiB);
  s.Launch();
  s.Download(kHost + 2 * kMiB, unknown, kMiB);
  s.Download(kHost + 4 * kMiB, changed, 100);  // another part
  s.Copy(to, from, kMiB, 3);
  s.Launch({to});  // the copied bytes may be overwritten
  s.Copy(to, from, kMiB, 3);
  s.Copy(from, to, kMiB, 3);  // the opposite direction
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kDuplicateTransfer).empty());
}

TEST(AdviceRoundTripTest, BroughtBackWhatTheDeviceStillHas) {
  Scenario s;
  const auto a = s.Alloc("Result", kMiB), b = s.Alloc("Input", kMiB);
  s.Launch({a});
  s.Download(kHost, a, kMiB);
  s.Upload(b, kHost, kMiB);
  s.Launch({b});
  const auto found = s.Of(s.Advice(), Pattern::kRoundTrip);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].moved_bytes, kMiB);
  EXPECT_EQ(found[0].confidence, Confidence::kPossible);
  EXPECT_EQ(s.SiteOf(found[0].stack), "Result");
  EXPECT_NE(found[0].assumption.find("host did not change"), std::string::npos);
}

TEST(AdviceRoundTripTest, NearMisses) {
  Scenario s;
  const auto offloaded = s.Alloc("Offloaded", kMiB), changed = s.Alloc("Changed", kMiB);
  s.Download(kHost, offloaded, kMiB);
  s.Free(offloaded);
  const auto back = s.Alloc("Back", kMiB);
  s.Upload(back, kHost, kMiB);  // the device memory was freed in between: an offload
  s.Download(kHost + kMiB, changed, kMiB);
  s.Launch({changed});
  s.Upload(changed, kHost + kMiB, kMiB);  // restores the old contents
  s.Upload(back, kHost + kMiB + 4, 64);   // another part
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kRoundTrip).empty());
}

TEST(AdviceRepeatedUploadTest, TheSamePlaceToTheSamePlace) {
  Scenario s;
  const auto a = s.Alloc("Table", kMiB);
  for (int i = 0; i < 4; ++i) {
    s.Upload(a, kHost, kMiB);
    s.Launch({a});
  }
  const auto found = s.Of(s.Advice(), Pattern::kRepeatedUpload);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].count, 3u);
  EXPECT_EQ(found[0].moved_bytes, 3 * kMiB);
  EXPECT_EQ(found[0].confidence, Confidence::kPossible);
}

TEST(AdviceRepeatedUploadTest, NearMisses) {
  Scenario s;
  const auto twice = s.Alloc("Twice", kMiB);
  for (int i = 0; i < 2; ++i) s.Upload(twice, kHost, kMiB);
  const auto others = s.Alloc("Others", kMiB);
  for (std::uint64_t i = 1; i < 5; ++i) s.Upload(others, kHost + i * kMiB, kMiB);
  for (int i = 0; i < 4; ++i) {  // new memory for each batch, copied from the same staging buffer
    const auto batch = s.Alloc("Batch", kMiB);
    s.Upload(batch, kHost + 9 * kMiB, kMiB);
    s.Launch({batch});
    s.Free(batch);
  }
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kRepeatedUpload).empty());
}

// A loop of `steps` steps that copies from `host` into memory of the site "Batch".
void CopyEachStep(Scenario& s, std::uint64_t host, std::uint64_t bytes, int steps) {
  const auto batch = s.Alloc("Batch", kMiB);
  for (int i = 0; i < steps; ++i) {
    s.Step(static_cast<std::uint64_t>(i));
    s.Upload(batch, host, bytes);
    s.Launch({batch});
  }
}

TEST(AdvicePageableTest, InEachStep) {
  Scenario s;
  CopyEachStep(s, kHost, 128 << 10, 6);
  const auto found = s.Of(s.Advice(), Pattern::kPageableCopy);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].count, 5u);  // the first step does not count
  EXPECT_EQ(found[0].moved_bytes, 5u * (128 << 10));
  EXPECT_EQ(s.SiteOf(found[0].stack), "Batch");
}

TEST(AdvicePageableTest, WithoutStepsTenTimes) {
  Scenario s;
  const auto a = s.Alloc("Batch", kMiB), b = s.Alloc("Nine", kMiB);
  for (int i = 0; i < 10; ++i) s.Upload(a, kHost, kMiB);
  for (int i = 0; i < 9; ++i) s.Download(kHost, b, kMiB);
  const AdviceReport report = s.Advice();
  ASSERT_EQ(s.Of(report, Pattern::kPageableCopy).size(), 1u);
  EXPECT_EQ(s.SiteOf(s.Of(report, Pattern::kPageableCopy)[0].stack), "Batch");
}

TEST(AdvicePageableTest, NearMisses) {
  {
    Scenario s;  // small enough for the driver to stage
    CopyEachStep(s, kHost, (64 << 10) - 1, 6);
    EXPECT_TRUE(s.Of(s.Advice(), Pattern::kPageableCopy).empty());
  }
  {
    Scenario s;  // page-locked
    const auto pinned = s.Alloc("Staging", kMiB, Layer::kPinned);
    CopyEachStep(s, pinned + 64, 128 << 10, 6);
    EXPECT_TRUE(s.Of(s.Advice(), Pattern::kPageableCopy).empty());
  }
  {
    Scenario s;  // copies in set-up, and in one of many steps
    const auto weights = s.Alloc("Weights", kMiB);
    for (int i = 0; i < 20; ++i) s.Upload(weights, kHost, kMiB);
    for (std::uint64_t i = 0; i < 10; ++i) {
      s.Step(i);
      if (i == 5) s.Upload(weights, kHost, kMiB);
    }
    EXPECT_TRUE(s.Of(s.Advice(), Pattern::kPageableCopy).empty());
  }
}

}  // namespace
}  // namespace memprof::analysis
