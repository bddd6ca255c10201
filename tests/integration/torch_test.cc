// Guests that report as PyTorch's allocator does: blocks, segments, streams.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "analysis/load/load.h"
#include "analysis/store/session.h"
#include "tests/integration/harness.h"
#include "tests/integration/torch_figures.h"

namespace memprof::testing {
namespace {

using ::testing::ContainerEq;
using ::testing::Contains;
using ::testing::StartsWith;

class Torch : public ::testing::TestWithParam<const char*> {};

TEST_P(Torch, BlocksAndSegmentsAreTheAllocators) {
  TempDirectory directory;
  const GuestResult guest = RunAllocator(directory, {"random", GetParam()});
  ExpectForwarded(guest);
  const Log log = ReadLog(directory.File("g.mprof"));
  ASSERT_EQ(PrintedFigures(guest).size(), 1u);
  EXPECT_THAT(RecordedFigures(log), ContainerEq(PrintedFigures(guest)));
  EXPECT_EQ(Counted(log, "framework_totals_differ"), 0u);
  EXPECT_EQ(log.WithOp(log::OP_FRAMEWORK_OOM).size(), GetParam()[0] == '1' ? 0u : 1u);
  for (const Event& event : log.WithOp(log::OP_ALLOC)) {
    if (MEMPROF_IS_SANITIZED || event.layer != log::LAYER_BLOCK) continue;
    EXPECT_TRUE(StackHas(log, event.stack, "Allocate"))
        << "the stack lacks the allocating function";
    break;
  }
}
INSTANTIATE_TEST_SUITE_P(Signatures, Torch, ::testing::Values("1", "2", "3"));

TEST(TorchGuest, PagesOfExpandableSegmentsComeAndGo) {
  TempDirectory directory;
  const GuestResult guest = RunAllocator(directory, {"pages"});
  ExpectForwarded(guest);
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_THAT(RecordedFigures(log), ContainerEq(PrintedFigures(guest)));
  EXPECT_EQ(Counted(log, "framework_totals_differ"), 0u);
}

TEST(TorchGuest, DevicesAllocateAtTheSameTime) {
  TempDirectory directory;
  const GuestResult guest = RunAllocator(directory, {"threads"});
  ExpectForwarded(guest);
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(PrintedFigures(guest).size(), 4u);
  EXPECT_THAT(RecordedFigures(log), ContainerEq(PrintedFigures(guest)));
  EXPECT_EQ(Counted(log, "framework_totals_differ"), 0u);
}

// Streams of blocks and of the segments allocated for them, by device and address.
using Streams = std::map<std::pair<int, std::uint64_t>, std::uint64_t>;

TEST(TorchGuest, BlocksSegmentsAndFailuresAreOfTheCallersStream) {
  TempDirectory directory;
  const GuestResult guest = RunAllocator(directory, {"streams", "0"});
  ExpectForwarded(guest);
  const Log log = ReadLog(directory.File("g.mprof"));
  Streams printed, blocks, segments;
  for (const std::string& line : guest.lines()) {
    std::istringstream words(line);
    std::string kind;
    std::pair<int, std::uint64_t> place;
    std::uint64_t stream = 0;
    if (words >> kind >> place.first >> place.second >> stream && kind == "block")
      printed[place] = stream;
  }
  for (const Event& event : log.WithOp(log::OP_ALLOC))
    if (event.layer == log::LAYER_BLOCK || event.layer == log::LAYER_SEGMENT)
      (event.layer == log::LAYER_BLOCK ? blocks : segments)[{event.device, event.address}] =
          event.stream;
  EXPECT_EQ(printed.size(), 120u);
  EXPECT_EQ(blocks, printed);
  EXPECT_EQ(segments.size(), 60u);  // two blocks each
  for (const auto& [place, stream] : segments) EXPECT_EQ(stream, printed[place]);
  for (const Event& event : log.WithOp(log::OP_FRAMEWORK_OOM))
    EXPECT_EQ(event.stream, 0x5200u + static_cast<unsigned>(event.device));
  // Once for each change to a stream that is not the default stream.
  EXPECT_THAT(guest.lines(), Contains("asked 8"));
}

TEST(TorchGuest, SegmentsOfCapturesAreInTheirPools) {
  TempDirectory directory;
  const GuestResult guest = RunAllocator(directory, {"captures"});
  ExpectForwarded(guest);
  std::map<std::uint64_t, int> pool_of;  // keyed by block
  for (const std::string& line : guest.lines()) {
    std::istringstream words(line);
    std::string kind;
    int pool = 0;
    std::uint64_t address = 0;
    if (words >> kind >> pool >> address && kind == "pool") pool_of[address] = pool;
  }
  EXPECT_EQ(pool_of.size(), 20u);
  const auto session = analysis::LoadLogs({directory.File("g.mprof")}, {.find_steps = false});
  ASSERT_TRUE(session.ok());
  std::map<int, std::uint64_t> number;
  int segments = 0;
  for (const analysis::Allocation& a : (*session)->allocations()) {
    if (a.layer != analysis::Layer::kSegment) continue;
    const int pool = pool_of[a.address];
    const auto [known, fresh] = number.try_emplace(pool, a.pool);
    EXPECT_EQ(known->second, a.pool) << pool;
    ++segments;
  }
  EXPECT_EQ(segments, 11);
  EXPECT_EQ(number, (std::map<int, std::uint64_t>{{0, 0}, {1, 1ull << 32}, {2, 2ull << 32}}));
}

TEST(TorchGuest, AStreamOfAnotherDeviceIsNotBelieved) {
  TempDirectory directory;
  const GuestResult guest = RunAllocator(directory, {"streams", "1"});
  ExpectForwarded(guest);
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(log.WithOp(log::OP_FRAMEWORK_OOM).size(), 2u);
  for (const Event& event : log.events) EXPECT_EQ(event.stream, 0u);
  EXPECT_THAT(guest.lines(), Contains("asked 0"));
}

// The driver is in an error state, as after a failed assertion in a kernel.
TEST(TorchGuest, AStreamThatThrowsIsQueriedOnceAndTheProgramDoesNotSeeIt) {
  TempDirectory directory;
  const GuestResult guest = RunAllocator(directory, {"streams", "-1"});
  ExpectForwarded(guest);
  EXPECT_EQ(guest.err, "");
  EXPECT_THAT(guest.lines(), Contains("asked 1"));
  EXPECT_THAT(guest.lines(), Contains("uncaught 0"));
  const Log log = ReadLog(directory.File("g.mprof"));
  std::size_t blocks = 0;
  for (const Event& event : log.WithOp(log::OP_ALLOC)) blocks += event.layer == log::LAYER_BLOCK;
  EXPECT_EQ(blocks, 120u);
  EXPECT_EQ(log.WithOp(log::OP_FRAMEWORK_OOM).size(), 2u);
}

TEST(TorchGuest, TheLogSaysThatTheAllocatorWasSeen) {
  TempDirectory directory;
  ExpectForwarded(RunAllocator(directory, {"random", "3"}));
  std::vector<std::string> torch;
  for (const log::Source& source : ReadLog(directory.File("g.mprof")).sources)
    if (source.name() == "torch" && source.state() == log::SOURCE_ON)
      torch.push_back(source.detail());
  EXPECT_THAT(torch, ::testing::ElementsAre(StartsWith("caching")));
}

}  // namespace
}  // namespace memprof::testing
