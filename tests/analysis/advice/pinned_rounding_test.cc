// Page-locked memory that PyTorch rounded up to a power of two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/advice/scenario.h"

namespace memprof::analysis {
namespace {

using ::testing::HasSubstr;
using testing::Scenario;

// A scenario with native stacks: of `library`, called by CUDA's runtime.
class Pinning : public Scenario {
 public:
  explicit Pinning(const std::string& library, const std::string& release = "2.15.0") {
    log::Definitions& definitions = log().definitions();
    std::uint64_t address = 0x1000;
    std::uint32_t id = 100;
    for (const std::string& path : {library, std::string("/x/libcudart.so.13")}) {
      log::Module* module = definitions.add_module();
      module->set_id(++id);
      module->set_path(path);
      module->set_first_address(address);
      module->set_end_address(address += 0x1000);
    }
    const int python = Stack("Batch");
    log::StackTrie* trie = definitions.mutable_trie();
    const std::uint32_t torch = trie->first_id() + static_cast<std::uint32_t>(trie->parent_size());
    trie->add_parent(static_cast<std::uint32_t>(python));
    trie->add_address_delta(0x1100);
    trie->add_module(101);
    trie->add_kind(log::FRAME_NATIVE);
    trie->add_parent(torch);
    trie->add_address_delta(0x1000);
    trie->add_module(102);
    trie->add_kind(log::FRAME_NATIVE);
    stack_ = static_cast<int>(torch) + 1;
    log::Framework* framework = definitions.add_framework();
    framework->set_name("PyTorch");
    framework->set_release(release);
  }
  std::uint64_t Pin(std::uint64_t bytes) {
    const std::uint64_t address = next_pinned_;
    next_pinned_ += bytes;
    log().Alloc(Layer::kPinned, address, bytes, {.device = kNoDevice, .stack = stack_});
    return address;
  }
  std::vector<Finding> Found() { return Of(Advice(0.001), Pattern::kPinnedRounding); }

 private:
  int stack_ = 0;
  std::uint64_t next_pinned_ = 0x7000'0000'0000;
};

constexpr char kTorch[] = "/x/torch/lib/libtorch_cuda.so";

TEST(AdvicePinnedRounding, IsHalfAtMostWithoutCopies) {
  Pinning s(kTorch);
  s.Pin(256 * kMiB);
  s.Pin(64 * kMiB);
  const auto found = s.Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].count, 2u);
  EXPECT_EQ(found[0].bytes, 320 * kMiB);
  EXPECT_EQ(found[0].saves_bytes, 160 * kMiB - 2);
  EXPECT_TRUE(found[0].upper_bound);
  EXPECT_EQ(found[0].confidence, Confidence::kPossible);
  EXPECT_THAT(found[0].why, HasSubstr("at most 160 MiB"));
  EXPECT_THAT(found[0].fix, HasSubstr("Set pinned_max_round_threshold_mb:1"));
  EXPECT_THAT(found[0].assumption, HasSubstr("--cupti"));
}

TEST(AdvicePinnedRounding, IsWhatNoCopyReached) {
  Pinning s(kTorch);
  const auto device = s.Alloc("Batch", 300 * kMiB);
  const auto pinned = s.Pin(256 * kMiB);
  s.Upload(device, pinned, 130 * kMiB);
  s.Upload(device, pinned + 10 * kMiB, 140 * kMiB);  // another batch, larger: ends at 150 MiB
  const auto found = s.Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].saves_bytes, 106 * kMiB);
  EXPECT_EQ(found[0].confidence, Confidence::kLikely);
  EXPECT_EQ(found[0].assumption, "");
}

TEST(AdvicePinnedRounding, WhatAnOlderReleaseCanDoIsAnotherChange) {
  Pinning s(kTorch, "2.12.1");
  s.Pin(256 * kMiB);
  const auto found = s.Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].fix, HasSubstr("just below a power of two"));
}

TEST(AdvicePinnedRounding, NearMisses) {
  Pinning copied(kTorch);  // all of it is used
  const auto device = copied.Alloc("Batch", 300 * kMiB);
  copied.Upload(device, copied.Pin(256 * kMiB), 256 * kMiB);
  EXPECT_TRUE(copied.Found().empty());
  Pinning odd(kTorch);  // not rounded
  odd.Pin(300 * kMiB);
  EXPECT_TRUE(odd.Found().empty());
  Pinning small(kTorch);  // many, but less than 64 MiB of rounding
  for (int i = 0; i < 100; ++i) small.Pin(kMiB);
  small.Pin(64 * kMiB);
  EXPECT_TRUE(small.Found().empty());
  Pinning others("/x/libother.so");
  others.Pin(256 * kMiB);
  EXPECT_TRUE(others.Found().empty());
  Scenario python;  // no native frame says whose it is
  python.Alloc("Pin", 256 * kMiB, Layer::kPinned);
  EXPECT_TRUE(python.Of(python.Advice(), Pattern::kPinnedRounding).empty());
}

TEST(AdvicePinnedRounding, EndsAboveTheThresholdThatWasSet) {
  for (const char* setting :
       {"pinned_max_round_threshold_mb:100", "pinned_max_cached_size_mb:100"}) {
    Pinning s(kTorch);
    s.log().header().add_environment(std::string("PYTORCH_ALLOC_CONF=") + setting);
    s.Pin(256 * kMiB);  // requested so
    EXPECT_TRUE(s.Found().empty()) << setting;
  }
  Pinning misspelt(kTorch);
  misspelt.log().header().add_environment("PYTORCH_ALLOC_CONF=pinned_max_round_threshold_mb:none");
  misspelt.Pin(256 * kMiB);
  EXPECT_EQ(misspelt.Found().size(), 1u);
}

TEST(AdvicePinnedRounding, TheMostHeldAtOnceCounts) {
  Pinning s(kTorch);
  for (int i = 0; i < 8; ++i) {
    const auto pinned = s.Pin(128 * kMiB);
    s.log().Free(Layer::kPinned, pinned, {.device = kNoDevice});
  }
  const auto found = s.Found();
  EXPECT_TRUE(found.empty()) << "63.99 MiB at once";
}

}  // namespace
}  // namespace memprof::analysis
