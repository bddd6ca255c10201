// The state reconstructed from a snapshot, against the true state of the toy allocator.
#include "analysis/interchange/internal/torch_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/interchange/toy_allocator.h"

namespace memprof::analysis::torch {
namespace {

using analysis::testing::ToyAllocator;
using analysis::testing::ToyOptions;
using analysis::testing::ToyState;

constexpr std::uint64_t kMiB = 1 << 20;

// Joins adjacent ranges, so that equal memory compares equal however it is divided.
std::map<std::uint64_t, std::uint64_t> Joined(
    const std::map<std::uint64_t, std::uint64_t>& ranges) {
  std::map<std::uint64_t, std::uint64_t> joined;
  for (const auto& [address, bytes] : ranges) {
    if (!joined.empty() && joined.rbegin()->first + joined.rbegin()->second == address)
      joined.rbegin()->second += bytes;
    else
      joined[address] = bytes;
  }
  return joined;
}

void ExpectStart(const Reconstruction& state, const ToyState& truth, const ToyState& end) {
  std::map<std::uint64_t, std::uint64_t> ranges, true_ranges;
  for (const Segment& segment : state.segments) ranges[segment.address] = segment.bytes;
  for (const auto& [address, range] : truth.ranges) true_ranges[address] = range.bytes;
  EXPECT_EQ(Joined(ranges), Joined(true_ranges));
  ASSERT_EQ(state.blocks.size(), truth.blocks.size());
  auto block = state.blocks.begin();
  for (const auto& [address, true_block] : truth.blocks) {
    EXPECT_EQ(block->address, address);
    EXPECT_EQ(block->requested, true_block.requested);
    EXPECT_EQ(block->pending_free, true_block.pending) << address;
    const auto at_end = end.blocks.find(address);
    if (at_end != end.blocks.end() && at_end->second == true_block) {
      EXPECT_EQ(block->bytes, true_block.bytes);
    } else {
      EXPECT_LE(block->bytes, true_block.bytes);  // at least its rounded request
      EXPECT_GE(block->bytes, true_block.requested);
    }
    ++block;
  }
}

class TruthTest : public ::testing::TestWithParam<int> {};

// Odd parameters use expandable segments; some do not split large blocks.
TEST_P(TruthTest, StateAtTheStartAndSizesOfBlocks) {
  ToyOptions options;
  options.seed = static_cast<std::uint32_t>(GetParam());
  options.expandable = GetParam() % 2 == 1;
  if (GetParam() % 3 == 0) options.max_split = 4 * kMiB;
  const ToyAllocator toy(options);
  ASSERT_GT(toy.actions().size(), 200u);
  for (const std::size_t ring : {toy.actions().size(), toy.actions().size() / 2, std::size_t{40},
                                 std::size_t{1}, std::size_t{0}}) {
    const std::string bytes = toy.Snapshot(ring);
    const auto pickle = Pickle::Parse(bytes);
    ASSERT_TRUE(pickle.ok()) << pickle.status();
    const auto snapshot = ReadSnapshot(*pickle);
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    const Reconstruction state = Reconstruct(snapshot->devices.at(0), snapshot->settings);
    EXPECT_EQ(state.contradictions, 0u);
    const std::size_t skipped = toy.actions().size() - ring;
    ExpectStart(state, toy.states()[skipped], toy.states().back());
    // A block from before the trace that is freed before the end may have been larger than
    // reconstructed, and its hole too. So sizes are exact only if the trace is complete.
    for (std::size_t i = 0; ring == toy.actions().size() && i < ring; ++i) {
      if (toy.actions()[i].action != "alloc") continue;
      EXPECT_EQ(state.block_bytes[i], toy.TakenBy(i)) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, TruthTest, ::testing::Range(0, 24));

TEST(RoundingTest, MultiplesOf512) {
  const Settings plain;
  for (const auto& [bytes, rounded] : std::map<std::uint64_t, std::uint64_t>{
           {0, 512}, {1, 512}, {512, 512}, {513, 1024}, {kMiB, kMiB}, {kMiB + 1, kMiB + 512}})
    EXPECT_EQ(RoundedSize(bytes, plain), rounded) << bytes;
  EXPECT_EQ(RoundedSize(~0ull, plain), ~0ull);  // no overflow
}

TEST(RoundingTest, StepsBetweenPowersOfTwo) {
  Settings settings;
  settings.roundup_divisions.fill(4);
  for (const auto& [bytes, rounded] : std::map<std::uint64_t, std::uint64_t>{
           {1200 * 1024, 1280 * 1024},  // steps of 256 KiB above 1 MiB
           {kMiB, kMiB},
           {2048, 2048},  // at most 512 * 4: not affected
           {2050, 2560},
           {5000, 5120}})  // steps of 1 KiB above 4 KiB
    EXPECT_EQ(RoundedSize(bytes, settings), rounded) << bytes;
  // Each power of two has its own entry; larger ones share the last entry.
  settings.roundup_divisions.fill(0);
  settings.roundup_divisions[1] = 2;
  EXPECT_EQ(RoundedSize(kMiB + 513, settings), kMiB + 1024);
  EXPECT_EQ(RoundedSize(2 * kMiB + 1, settings), 3 * kMiB);
  settings.roundup_divisions[15] = 2;
  EXPECT_EQ(RoundedSize((100ull << 30) + 1, settings), 128ull << 30);
}

TEST(SplittingTest, SmallBlocksLeaveAnyRestLargeOnesMoreThanAMiB) {
  Settings settings;
  EXPECT_TRUE(Splits(512, 1024, false, settings));
  EXPECT_FALSE(Splits(512, 1023, false, settings));
  EXPECT_TRUE(Splits(kMiB, kMiB + 512, false, settings));
  EXPECT_FALSE(Splits(2 * kMiB, 3 * kMiB, false, settings));
  EXPECT_TRUE(Splits(2 * kMiB, 3 * kMiB + 512, false, settings));
  EXPECT_TRUE(Splits(2 * kMiB, 2 * kMiB + 512, true, settings));
  settings.max_split_bytes = 2 * kMiB;
  EXPECT_FALSE(Splits(2 * kMiB, 20 * kMiB, false, settings));
  EXPECT_TRUE(Splits(kMiB + 512, 20 * kMiB, false, settings));
}

Segment Range(std::uint64_t address, std::uint64_t bytes, bool expandable = false) {
  Segment segment;
  segment.address = address;
  segment.bytes = bytes;
  segment.expandable = expandable;
  return segment;
}

TEST(ReservedTest, CutsAndJoins) {
  Reserved reserved;
  reserved.Add(Range(0x1000, 0x1000, true));
  reserved.Add(Range(0x2000, 0x1000, true));
  reserved.Add(Range(0x4000, 0x1000));
  EXPECT_EQ(reserved.bytes(), 0x3000u);
  EXPECT_EQ(reserved.EndOfRun(0x1800), 0x3000u);
  Segment other = Range(0x3000, 0x1000, true);  // adjacent, but of another stream
  other.stream = 1;
  reserved.Add(other);
  EXPECT_EQ(reserved.EndOfRun(0x1800), 0x3000u);
  EXPECT_TRUE(reserved.Remove(0x3000, 0x1000));
  EXPECT_EQ(reserved.EndOfRun(0x4000), 0x5000u);
  EXPECT_EQ(reserved.EndOfRun(0x3000), 0x3000u);  // nothing there
  // the end of one range and the beginning of the next
  EXPECT_TRUE(reserved.Remove(0x1800, 0x1000));
  EXPECT_EQ(reserved.bytes(), 0x2000u);
  EXPECT_EQ(reserved.At(0x1800), nullptr);
  ASSERT_NE(reserved.At(0x2fff), nullptr);
  EXPECT_EQ(reserved.At(0x2fff)->address, 0x2800u);
  EXPECT_FALSE(reserved.Remove(0x2000, 0x1000));  // half of it
  EXPECT_EQ(reserved.bytes(), 0x1800u);
  EXPECT_TRUE(reserved.Remove(0x4400, 0x100));  // out of the middle
  EXPECT_EQ(reserved.ranges().size(), 3u);
  reserved.Add(Range(0x4000, 0x1000));  // overlaps existing ranges
  EXPECT_EQ(reserved.bytes(), 0x1800u);
}

Entry Do(Action action, std::uint64_t address, std::uint64_t bytes) {
  Entry entry;
  entry.action = action;
  entry.address = address;
  entry.bytes = bytes;
  return entry;
}

// The trace was stopped before the snapshot was taken.
TEST(ContradictionTest, TheStateIsBelieved) {
  Device device;
  device.segments = {Range(0x100000, 2 * kMiB), Range(0x800000, 2 * kMiB)};
  device.blocks.resize(1);
  device.blocks[0].address = 0x100000;
  device.blocks[0].bytes = device.blocks[0].requested = 1024;
  device.trace = {Do(Action::kSegmentAlloc, 0x100000, 2 * kMiB),
                  Do(Action::kSegmentAlloc, 0x400000, 2 * kMiB),
                  Do(Action::kAlloc, 0x100000, 512),
                  Do(Action::kAlloc, 0x400000, 512),
                  Do(Action::kFreeRequested, 0x100000, 512),
                  Do(Action::kFreeCompleted, 0x100000, 512)};
  const Reconstruction state = Reconstruct(device, Settings());
  EXPECT_EQ(state.segments.size(), 1u);  // 0x800000, which is not in the trace
  ASSERT_EQ(state.late_blocks.size(), 1u);
  EXPECT_EQ(state.late_blocks[0].address, 0x100000u);
  EXPECT_EQ(state.late_blocks[0].bytes, 1024u);
  ASSERT_EQ(state.gone_blocks.size(), 1u);
  EXPECT_EQ(state.gone_blocks[0].address, 0x400000u);
  ASSERT_EQ(state.gone_segments.size(), 1u);
  EXPECT_EQ(state.gone_segments[0].address, 0x400000u);
  EXPECT_TRUE(state.late_segments.empty());
  EXPECT_EQ(state.contradictions, 3u);
}

TEST(ContradictionTest, AMissingFreeIsCounted) {
  Device device;
  device.segments = {Range(0, 2 * kMiB)};
  device.trace = {Do(Action::kAlloc, 0x1000, 512), Do(Action::kAlloc, 0x1000, 512),
                  Do(Action::kFreeCompleted, 0x1000, 512)};
  EXPECT_EQ(Reconstruct(device, Settings()).contradictions, 1u);
}

TEST(ContradictionTest, ABlockOutsideOfAllSegmentsIsCounted) {
  Device device;
  device.segments = {Range(0x100000, 2 * kMiB)};
  device.trace = {Do(Action::kAlloc, 0x100000, 512), Do(Action::kAlloc, 0x900000, 512),
                  Do(Action::kFreeCompleted, 0x100000, 512),
                  Do(Action::kFreeCompleted, 0x900000, 512)};
  EXPECT_EQ(Reconstruct(device, Settings()).contradictions, 1u);
}

// The memory at an out-of-memory error, including memory from before the trace.
TEST(OomTest, AllocatedAndReservedAtThatInstant) {
  Device device;
  device.segments = {Range(0x100000, 2 * kMiB), Range(0x800000, 2 * kMiB)};
  device.blocks.resize(1);
  device.blocks[0].address = 0x100000;
  device.blocks[0].bytes = device.blocks[0].requested = 4096;
  device.trace = {Do(Action::kOom, 5, 9),
                  Do(Action::kSegmentAlloc, 0x800000, 2 * kMiB),
                  Do(Action::kAlloc, 0x800000, 512),
                  Do(Action::kOom, 5, 9),
                  Do(Action::kFreeCompleted, 0x800000, 512),
                  Do(Action::kOom, 5, 9)};
  const Reconstruction state = Reconstruct(device, Settings());
  EXPECT_THAT(state.allocated, ::testing::ElementsAre(4096, 4608, 4096));
  EXPECT_THAT(state.reserved, ::testing::ElementsAre(2 * kMiB, 4 * kMiB, 4 * kMiB));
  EXPECT_EQ(state.contradictions, 0u);
}

}  // namespace
}  // namespace memprof::analysis::torch
