// Programs that allocate as PyTorch does: what they reported is in the log and arrives where it
// would without the recorder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "analysis/load/load.h"
#include "analysis/store/session.h"
#include "tests/integration/harness.h"

namespace memprof::testing {
namespace {

using ::testing::ContainerEq;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::StartsWith;

struct Figures {
  std::uint64_t peak = 0, live = 0, peak_reserved = 0, reserved = 0;
  bool operator==(const Figures&) const = default;
};
void PrintTo(const Figures& f, std::ostream* out) {
  *out << f.peak << ' ' << f.live << ' ' << f.peak_reserved << ' ' << f.reserved;
}

// By device, from the allocator itself.
std::map<int, Figures> PrintedFigures(const GuestResult& guest) {
  std::map<int, Figures> all;
  for (const std::string& line : guest.lines()) {
    std::istringstream words(line);
    std::string kind;
    int device = 0;
    Figures figures;
    if (words >> kind >> device >> figures.peak >> figures.live >> figures.peak_reserved >>
            figures.reserved &&
        kind == "figures")
      all[device] = figures;
  }
  return all;
}

// The same from the log; every end has a beginning, and every block lies in memory of the driver
// that became segments.
std::map<int, Figures> RecordedFigures(const Log& log) {
  std::map<int, Figures> all;
  std::map<std::pair<int, std::uint64_t>, std::uint64_t> blocks, segments;
  for (const Event& event : log.ByTime()) {
    if (event.layer != log::LAYER_BLOCK && event.layer != log::LAYER_SEGMENT) continue;
    const bool block = event.layer == log::LAYER_BLOCK;
    auto& live = block ? blocks : segments;
    Figures& figures = all[event.device];
    std::uint64_t& sum = block ? figures.live : figures.reserved;
    std::uint64_t& most = block ? figures.peak : figures.peak_reserved;
    const std::pair<int, std::uint64_t> key(event.device, event.address);
    if (event.op == log::OP_ALLOC) {
      EXPECT_FALSE(live.contains(key)) << "handed out twice";
      live[key] = event.bytes;
      sum += event.bytes;
      most = std::max(most, sum);
      if (!block) continue;
      const auto segment = segments.upper_bound(key);
      EXPECT_TRUE(segment != segments.begin() && std::prev(segment)->first.first == event.device &&
                  event.address < std::prev(segment)->first.second + std::prev(segment)->second)
          << "a block without a segment";
    } else if (event.op == log::OP_FREE) {
      EXPECT_TRUE(live.contains(key)) << "never handed out";
      EXPECT_EQ(live[key], event.bytes);
      sum -= live[key];
      live.erase(key);
    }
  }
  return all;
}

std::uint64_t Counted(const Log& log, const std::string& name) {
  const auto found = log.counters.find(name);
  return found == log.counters.end() ? 0 : found->second;
}

GuestResult RunAllocator(const TempDirectory& directory, std::vector<std::string> arguments,
                         std::map<std::string, std::string> environment = {}) {
  GuestOptions options{.arguments = std::move(arguments), .directory = directory.path()};
  options.environment = std::move(environment);
  options.environment.emplace("SIMCUDA", "devices=4,memory=1GiB");
  return RunGuest("guest_torch_allocator", options);
}

// Everything arrived once, as it was sent.
void ExpectForwarded(const GuestResult& guest) {
  ASSERT_EQ(guest.status, 0) << guest.err;
  EXPECT_EQ(guest.err, "");
  int seen = 0;
  for (const std::string& line : guest.lines()) {
    EXPECT_NE(line, "digest other");
    std::istringstream words(line);
    std::string kind;
    std::uint64_t arrived = 0, called = 1;
    if (!(words >> kind >> arrived >> called) || kind != "seen") continue;
    EXPECT_EQ(arrived, called);
    EXPECT_GT(called, 0u);
    ++seen;
  }
  EXPECT_GT(seen, 0);
}

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
    EXPECT_TRUE(StackHas(log, event.stack, "Allocate")) << "whose block is it?";
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

// Of blocks and of the segments that they made necessary, by device and address.
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
  // Once for each change to another but the default stream.
  EXPECT_THAT(guest.lines(), Contains("asked 8"));
}

TEST(TorchGuest, SegmentsOfCapturesAreInTheirPools) {
  TempDirectory directory;
  const GuestResult guest = RunAllocator(directory, {"captures"});
  ExpectForwarded(guest);
  std::map<std::uint64_t, int> pool_of;  // by block
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

// The driver is in a state of error, as after a failed assertion in a kernel.
TEST(TorchGuest, AStreamThatThrowsIsAskedOnceAndNobodySeesIt) {
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

TEST(TorchGuest, TwoCopiesOfTheLibraryGetTheirOwnCalls) {
  TempDirectory directory;
  const GuestResult guest = RunAllocator(directory, {"two"});
  ExpectForwarded(guest);
  EXPECT_THAT(guest.lines(), Contains("seen 7 7"));
  EXPECT_THAT(guest.lines(), Contains("seen 5 5"));
}

TEST(TorchGuest, AnotherToolInFrontOrBehindHearsEveryCallOnce) {
  const std::string ours = BuildPath("lib/libmemprof.so");
  const std::string other = GuestPath("libguest_torch_between.so");
  for (const std::string& preload : {ours + ":" + other, other + ":" + ours}) {
    TempDirectory directory;
    const GuestResult guest = RunAllocator(directory, {"random", "3"}, {{"LD_PRELOAD", preload}});
    ASSERT_EQ(guest.status, 0) << guest.err;
    const Log log = ReadLog(directory.File("g.mprof"));
    EXPECT_THAT(RecordedFigures(log), ContainerEq(PrintedFigures(guest))) << preload;
    std::uint64_t reports = 0;
    for (const Event& event : log.events) reports += event.layer == log::LAYER_BLOCK;
    reports -= log.WithOp(log::OP_FRAMEWORK_OOM).size();
    EXPECT_THAT(guest.lines(), Contains("between " + std::to_string(reports))) << preload;
    // The tool asks for what is next in the global scope; what is local to a library it cannot
    // find, in front or behind, unless memprof finds it for it.
    if (preload.starts_with(other)) ExpectForwarded(guest);
  }
}

TEST(TorchGuest, WhereNobodyStandsBehindCallsEnd) {
  const std::string ours = BuildPath("lib/libmemprof.so");
  const std::string other = GuestPath("libguest_torch_between.so");
  for (const std::string& preload : {ours + ":" + other, other + ":" + ours}) {
    TempDirectory directory;
    const GuestResult guest = RunAllocator(directory, {"lonely"}, {{"LD_PRELOAD", preload}});
    EXPECT_EQ(guest.status, 0) << guest.err;
    EXPECT_THAT(guest.lines(), Contains("between 3")) << preload;
  }
}

TEST(TorchGuest, WithoutRecordingCallsArriveAllTheSame) {
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"MEMPROF_START", "paused"}, {"MEMPROF_DISABLE", "1"}}) {
    TempDirectory directory;
    ExpectForwarded(RunAllocator(directory, {"random", "3"}, {{name, value}}));
    EXPECT_THAT(directory.Files(".mprof"), IsEmpty());
  }
}

TEST(TorchGuest, WithoutMemprofTheGuestIsRight) {
  TempDirectory directory;
  GuestOptions options{
      .arguments = {"random", "3"}, .preload = false, .directory = directory.path()};
  ExpectForwarded(RunGuest("guest_torch_allocator", options));
}

TEST(TorchGuest, AForkedChildOnlyForwards) {
  TempDirectory directory;
  const GuestResult guest = RunAllocator(directory, {"fork"});
  ExpectForwarded(guest);
  EXPECT_THAT(guest.lines(), Contains("child 0"));
  EXPECT_THAT(directory.Files(".mprof").size(), 1u);
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_THAT(RecordedFigures(log), ContainerEq(PrintedFigures(guest)));
}

TEST(TorchGuest, HostileReportsHarmNobody) {
  TempDirectory directory;
  ExpectForwarded(RunAllocator(directory, {"hostile"}));
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(log.error, "");
  EXPECT_TRUE(log.has_trailer);
  EXPECT_GT(Counted(log, "framework_totals_differ"), 0u);
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
