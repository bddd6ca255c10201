// Peaks without sites, layers and tensors, against sums over every event.
#include "analysis/peak/savings.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;

// The peak of (device, of) if `left_out` had never been allocated.
NewPeak PeakWithout(const Session& session, int device, PeakLayer of,
                    const std::set<std::uint32_t>& left_out) {
  NewPeak peak;
  const auto records = session.records();
  for (std::uint32_t e = 0; e < session.events().size(); ++e) {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < records.size(); ++i) {
      const AllocationRecord& a = records[i];
      if (a.device != device || PeakLayerOf(a.layer) != of || left_out.contains(i)) continue;
      if (a.birth.value <= e && (!a.death.valid() || e < a.death.value)) sum += a.bytes;
    }
    if (sum > peak.bytes) peak = {sum, EventId(e)};
  }
  return peak;
}

void ExpectSaving(const Session& session, const PeakSavings& savings, int device, PeakLayer of,
                  const std::set<std::uint32_t>& left_out, const PeakSaving& got) {
  const NewPeak want = PeakWithout(session, device, of, left_out);
  EXPECT_EQ(got.without.bytes, want.bytes);
  EXPECT_EQ(got.without.event.value, want.event.value);
  EXPECT_EQ(got.saves_bytes, savings.PeakAsItWas(device, of).bytes - want.bytes);
}

class RandomSavings : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  void SetUp() override {
    RandomLog log({.seed = GetParam(), .operations = 200});
    session_ = LoadLog(log.builder());
    ASSERT_NE(session_, nullptr);
  }
  std::shared_ptr<const Session> session_;
};

TEST_P(RandomSavings, Sites) {
  const PeakSavings savings(*session_);
  const std::size_t stacks = session_->stack_count();
  for (const PeakLayer of : {PeakLayer::kDriver, PeakLayer::kBlocks}) {
    const auto got = savings.Without(1, of, stacks, [](AllocationId, const AllocationRecord& a) {
      return a.stack.valid() ? a.stack.value : kNoGroup;
    });
    std::map<std::uint32_t, std::set<std::uint32_t>> by_stack;
    for (std::uint32_t i = 0; i < session_->records().size(); ++i)
      by_stack[session_->records()[i].stack.value].insert(i);
    for (std::uint32_t stack = 0; stack < stacks; ++stack)
      ExpectSaving(*session_, savings, 1, of, by_stack[stack], got[stack]);
  }
}

TEST_P(RandomSavings, OneAllocation) {
  const PeakSavings savings(*session_);
  for (std::uint32_t i = 0; i < session_->records().size(); i += 7) {
    const AllocationRecord& a = session_->records()[i];
    const auto of = PeakLayerOf(a.layer);
    if (!of) continue;
    ExpectSaving(*session_, savings, a.device, *of, {i}, savings.WithoutOne(AllocationId(i)));
  }
}

// Removing a tensor removes its block, unless a tensor of another group was ever in that block.
TEST_P(RandomSavings, Tensors) {
  const PeakSavings savings(*session_);
  constexpr std::uint32_t kGroups = 5;  // random logs have five names of tensors
  const auto records = session_->records();
  std::map<std::uint32_t, std::set<std::uint64_t>> names_in;  // by block
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    if (records[i].layer != Layer::kTensor || records[i].device != 0) continue;
    EXPECT_TRUE(records[i].parent.valid());
    names_in[records[i].parent.value].insert(records[i].tensor().value);
  }
  const auto got = savings.WithoutTensors(
      0, kGroups, [](AllocationId, const AllocationRecord& a) { return a.tensor().value; });
  ASSERT_EQ(got.size(), kGroups);
  for (std::uint32_t group = 0; group < kGroups; ++group) {
    std::set<std::uint32_t> blocks;
    for (const auto& [block, names] : names_in)
      if (names == std::set<std::uint64_t>{group}) blocks.insert(block);
    ExpectSaving(*session_, savings, 0, PeakLayer::kBlocks, blocks, got[group]);
  }
}

// Every other allocation gets another size, smaller or larger.
TEST_P(RandomSavings, OtherSizes) {
  const PeakSavings savings(*session_);
  const auto size = [](std::uint32_t i, std::uint64_t bytes) {
    return i % 2 == 0 ? bytes : bytes * (i % 5) / 3;
  };
  for (const PeakLayer of : {PeakLayer::kDriver, PeakLayer::kBlocks}) {
    const PeakSaving got = savings.WithSizes(
        0, of,
        [&size](AllocationId id, const AllocationRecord& a) { return size(id.value, a.bytes); });
    std::uint64_t want = 0;
    const auto records = session_->records();
    for (std::uint32_t e = 0; e < session_->events().size(); ++e) {
      std::uint64_t sum = 0;
      for (std::uint32_t i = 0; i < records.size(); ++i) {
        const AllocationRecord& a = records[i];
        if (a.device != 0 || PeakLayerOf(a.layer) != of) continue;
        if (a.birth.value <= e && (!a.death.valid() || e < a.death.value)) sum += size(i, a.bytes);
      }
      want = std::max(want, sum);
    }
    const std::uint64_t before = savings.PeakAsItWas(0, of).bytes;
    EXPECT_EQ(got.without.bytes, want);
    EXPECT_EQ(got.saves_bytes, before > want ? before - want : 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSavings, ::testing::Range(20u, 26u));

TEST(PeakSavingsTest, ATensorIsWorthItsBlock) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x100000, 8192);
  log.Alloc(Layer::kSegment, 0x100000, 8192);
  log.Alloc(Layer::kBlock, 0x100000, 4096);
  log.TensorCreate(0x100000, 4000, log.Tensor("w", "float32", {1000}));
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const PeakSavings savings(*session);
  EXPECT_EQ(savings.TensorPeakLayer(0), PeakLayer::kBlocks);
  EXPECT_EQ(savings.WithoutOne(AllocationId(3)).saves_bytes, 4096u);
  // a segment: the driver memory below it counts
  EXPECT_EQ(savings.WithoutOne(AllocationId(1)).saves_bytes, 8192u);
  EXPECT_EQ(savings.WithoutOne(AllocationId()).saves_bytes, 0u);
}

TEST(PeakSavingsTest, WithoutBlocksATensorIsWorthTheDriversMemory) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x100000, 8192);
  log.TensorCreate(0x100000, 4000, log.Tensor("w", "float32", {1000}));
  log.Alloc(Layer::kLinear, 0x200000, 1000);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const PeakSavings savings(*session);
  EXPECT_EQ(savings.TensorPeakLayer(0), PeakLayer::kDriver);
  const auto got =
      savings.WithoutTensors(0, 1, [](AllocationId, const AllocationRecord&) { return 0u; });
  EXPECT_EQ(got[0].saves_bytes, 8192u);
  EXPECT_EQ(got[0].without.bytes, 1000u);
}

TEST(PeakSavingsTest, SharedBlocksStay) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x100000, 8192);
  log.Alloc(Layer::kBlock, 0x100000, 4096);
  log.TensorCreate(0x100000, 100, log.Tensor("a", "float32", {25}));
  log.TensorCreate(0x100800, 100, log.Tensor("b", "float32", {25}));
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const PeakSavings savings(*session);
  const auto apart = savings.WithoutTensors(
      0, 2, [](AllocationId, const AllocationRecord& a) { return a.tensor().value; });
  EXPECT_EQ(apart[0].saves_bytes, 0u);
  EXPECT_EQ(apart[1].saves_bytes, 0u);
  const auto together =
      savings.WithoutTensors(0, 1, [](AllocationId, const AllocationRecord&) { return 0u; });
  EXPECT_EQ(together[0].saves_bytes, 4096u);
  // A group outside of the question counts as another group.
  const auto beside = savings.WithoutTensors(0, 1, [](AllocationId, const AllocationRecord& a) {
    return a.tensor().value == 0 ? 0u : kNoGroup;
  });
  EXPECT_EQ(beside[0].saves_bytes, 0u);
}

}  // namespace
}  // namespace memprof::analysis
