// Snapshots that are imported, exported and imported again.
#include <gtest/gtest.h>

#include "tests/analysis/interchange/torch_export_fixture.h"
#include "tests/analysis/interchange/toy_allocator.h"

namespace memprof::analysis {
namespace {

using testing::Export;
using testing::ImportAndLoad;
using testing::ReadData;
using testing::ToyAllocator;
using testing::ToyOptions;
using testing::Viewer;

// All information of a log, event by event, as text.
std::vector<std::string> LinesOf(const Session& session) {
  std::vector<std::string> lines;
  const EventTable& events = session.events();
  for (std::size_t e = 0; e < events.size(); ++e) {
    const Event event = events[e];
    std::string line;
    for (const std::uint64_t number :
         {event.time, event.address, event.bytes, event.stream, event.aux0, event.aux1,
          std::uint64_t{event.result}, static_cast<std::uint64_t>(event.device + 1)})
      line += std::to_string(number) + " ";
    line += std::string(OpName(event.op)) + " " + std::string(LayerName(event.layer)) + " " +
            std::string(session.string(event.api)) + " " +
            std::string(session.string(StringId(event.label)));
    for (const FrameId id : session.StackFrames(event.stack)) {
      const Frame& frame = session.frame(id);
      line += " " + std::string(session.string(frame.function)) + "@" +
              std::string(session.string(frame.file)) + ":" + std::to_string(frame.line);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

TEST(TorchRoundTripTest, RealSnapshotsComeBackEventByEvent) {
  for (const char* name : {"torch_snapshot_train.pickle", "torch_snapshot_oom.pickle"}) {
    const auto first = ImportAndLoad(ReadData(name));
    ASSERT_NE(first, nullptr);
    const std::string exported = Export(first);
    const auto second = ImportAndLoad(exported);
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(LinesOf(*first), LinesOf(*second));
    EXPECT_EQ(Export(second), exported);
    Viewer viewer(exported);
    viewer.Replay(0);
  }
}

class ToyRoundTripTest : public ::testing::TestWithParam<int> {};

TEST_P(ToyRoundTripTest, EventByEvent) {
  ToyOptions options;
  options.seed = static_cast<std::uint32_t>(GetParam()) + 300;
  options.device = GetParam() % 2;
  const ToyAllocator toy(options);
  for (const std::size_t ring : {toy.actions().size(), toy.actions().size() / 3}) {
    const auto first = ImportAndLoad(toy.Snapshot(ring));
    ASSERT_NE(first, nullptr);
    const std::string exported = Export(first);
    const auto second = ImportAndLoad(exported);
    ASSERT_NE(second, nullptr);
    ASSERT_EQ(LinesOf(*first), LinesOf(*second));
    Viewer viewer(exported);
    viewer.Replay(static_cast<std::size_t>(options.device));
    EXPECT_EQ(viewer.blocks(), toy.states()[toy.actions().size() - ring].blocks.size());
  }
}

// An import divides pages where they are unmapped, so a second import may divide them differently.
// The totals at every moment must be equal.
TEST_P(ToyRoundTripTest, ExpandableSegments) {
  ToyOptions options;
  options.seed = static_cast<std::uint32_t>(GetParam()) + 400;
  options.expandable = true;
  const ToyAllocator toy(options);
  const auto first = ImportAndLoad(toy.Snapshot(toy.actions().size() / 2));
  ASSERT_NE(first, nullptr);
  const std::string exported = Export(first);
  const auto second = ImportAndLoad(exported);
  ASSERT_NE(second, nullptr);
  Viewer viewer(exported);
  viewer.Replay(0);
  const auto held = [](const Session& session, TimeNs time, Layer layer) {
    std::uint64_t bytes = 0;
    for (const AllocationId id : session.LiveAt(time, LayerBit(layer)))
      bytes += session.record(id).bytes;
    return bytes;
  };
  for (std::size_t e = 0; e < first->events().size(); e += 5) {
    const TimeNs time = first->events().time(e);
    for (const Layer layer : {Layer::kVmmPhysical, Layer::kSegment, Layer::kBlock})
      ASSERT_EQ(held(*first, time, layer), held(*second, time, layer));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ToyRoundTripTest, ::testing::Range(0, 8));

}  // namespace
}  // namespace memprof::analysis
