// Lifetimes of every kind of driver and host memory against a brute-force reference on random
// traces: linear, managed, stream-ordered, graph, arrays, pinned, registered, VMM, imported,
// modules and multicast objects, which share numbers but not address spaces. Also the marks on
// them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/analysis/load/lifetime_kinds_reference.h"
#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using testing::CountOf;
using testing::KindsEvent;
using testing::KindsReference;
using testing::kPiece;
using testing::LoadLog;
using testing::LogBuilder;

std::vector<KindsEvent> RandomKinds(std::mt19937& random, int length) {
  const auto draw = [&random](unsigned n) { return static_cast<unsigned>(random() % n); };
  constexpr Layer kLayers[] = {Layer::kLinear,      Layer::kManaged,     Layer::kStreamOrdered,
                               Layer::kArray,       Layer::kPinned,      Layer::kRegistered,
                               Layer::kVmmPhysical, Layer::kVmmPhysical, Layer::kGraph,
                               Layer::kImported,    Layer::kImported,    Layer::kMulticast};
  constexpr ImportKind kKinds[] = {ImportKind::kIpc, ImportKind::kPhysical, ImportKind::kExternal};
  std::vector<KindsEvent> events;
  for (int i = 0; i < length; ++i) {
    KindsEvent event;
    event.device = draw(4) == 0 ? 1 : 0;
    event.context = draw(5) == 0 ? 0 : static_cast<std::uint32_t>(event.device + 1);
    event.layer = kLayers[draw(std::size(kLayers))];
    if (event.layer == Layer::kManaged) event.device = 0;     // its addresses belong to the process
    if (OccupiesHost(event.layer)) event.device = kNoDevice;  // its context belongs to some device
    event.address = kPiece * (1 + draw(5));                   // the same few numbers in every space
    event.bytes = kPiece;
    const unsigned choice = draw(115);
    if (choice < 38) {
      event.op = Op::kAlloc;
      if (event.layer == Layer::kImported) event.kind = kKinds[draw(3)];
    } else if (choice < 68) {
      event.op = Op::kFree;
      event.bytes = 0;
    } else if (choice < 97) {
      event.op = choice < 84 ? Op::kMap : Op::kUnmap;
      event.layer = draw(6) == 0 ? Layer::kMulticast : Layer::kVmmPhysical;
      event.device = std::max(event.device, 0);
      event.handle = 0x1000 * (1 + draw(5));
      event.bytes = 0x1000 * (1 + draw(3));
    } else if (choice >= 108) {
      event.op = Op::kPrefetch;
      event.layer = Layer::kManaged;
      event.device = static_cast<int>(draw(3)) - 1;
      event.address = kPiece * draw(7) + (draw(2) == 0 ? 0 : draw(kPiece));
    } else if (choice >= 100) {
      event.op = choice < 104   ? Op::kModuleLoad
                 : choice < 106 ? Op::kModuleUnload
                                : Op::kModuleGlobal;
      event.layer = Layer::kModule;
      event.device = std::max(event.device, 0);
      event.handle = kPiece * (1 + draw(5));
    } else {
      event.op = choice < 99 ? Op::kContextDestroy : Op::kDeviceReset;
      event.layer = Layer::kUnspecified;
      event.device = std::max(event.device, 0);
    }
    events.push_back(event);
  }
  return events;
}

// The traces cover all ways in which each kind can end, and no others occur.
void ExpectEveryEnd(std::map<std::pair<Layer, EndReason>, int>& seen) {
  using enum EndReason;
  for (const Layer layer : {Layer::kLinear, Layer::kManaged, Layer::kArray, Layer::kPinned,
                            Layer::kRegistered, Layer::kStreamOrdered, Layer::kVmmPhysical,
                            Layer::kGraph, Layer::kModule, Layer::kMulticast}) {
    SCOPED_TRACE(LayerName(layer));
    for (const EndReason reason : {kAlive, kFreed, kAddressReused})
      EXPECT_GT((seen[{layer, reason}]), 0);
    const bool pooled = layer == Layer::kStreamOrdered || layer == Layer::kGraph;
    const bool of_process = layer == Layer::kVmmPhysical || layer == Layer::kMulticast;
    EXPECT_EQ((seen[{layer, kContextDestroyed}]) > 0, !pooled && !of_process);
    EXPECT_EQ((seen[{layer, kDeviceReset}]) > 0, !of_process);
  }
}

void ExpectEveryEndOfImports(std::map<std::pair<ImportKind, EndReason>, int>& seen) {
  using enum EndReason;
  for (const ImportKind kind : {ImportKind::kIpc, ImportKind::kPhysical, ImportKind::kExternal}) {
    SCOPED_TRACE(ImportKindName(kind));
    for (const EndReason reason : {kAlive, kFreed, kAddressReused})
      EXPECT_GT((seen[{kind, reason}]), 0);
    EXPECT_EQ((seen[{kind, kContextDestroyed}]) > 0, kind != ImportKind::kPhysical);
    EXPECT_EQ((seen[{kind, kDeviceReset}]) > 0, kind != ImportKind::kPhysical);
  }
}

TEST(LifetimeKindsTest, EqualsItsBruteForceTwin) {
  std::mt19937 random(424242);
  std::map<std::pair<Layer, EndReason>, int> seen;
  std::map<std::pair<ImportKind, EndReason>, int> seen_import;
  std::uint64_t unmatched = 0, doubled = 0, foreign = 0, outlived = 0, marked = 0;
  for (int round = 0; round < 200; ++round) {
    const std::vector<KindsEvent> trace = RandomKinds(random, 200);
    LogBuilder log;
    log.Context(1, 0);
    log.Context(2, 1);
    for (const KindsEvent& event : trace)
      log.Event(event.op, event.layer, event.address, event.bytes, 0,
                {.device = event.device,
                 .aux0 = event.handle,
                 .aux1 = static_cast<std::uint64_t>(event.kind),
                 .context = event.context});
    KindsReference reference;
    reference.Run(trace);
    const auto session = LoadLog(log, {.events_per_chunk = 64});
    ASSERT_NE(session, nullptr);
    ASSERT_EQ(session->allocations().size(), reference.lives.size());
    for (std::uint32_t i = 0; i < reference.lives.size(); ++i) {
      const KindsReference::Life& expected = reference.lives[i];
      const Allocation& actual = session->allocations()[i];
      ASSERT_EQ(actual.end_reason, expected.reason) << "round " << round << " allocation " << i;
      ASSERT_EQ(actual.death.value, expected.death) << "round " << round << " allocation " << i;
      ASSERT_EQ(actual.device, expected.device);
      ASSERT_EQ(actual.import_kind, expected.kind);
      std::vector<std::uint32_t> marks;
      for (const EventId mark : session->Marks(AllocationId(i))) marks.push_back(mark.value);
      ASSERT_EQ(marks, expected.marks) << "round " << round << " allocation " << i;
      marked += marks.size();
      seen_import[{actual.import_kind, actual.end_reason}] += actual.layer == Layer::kImported;
      ++seen[{actual.layer, actual.end_reason}];
      outlived += expected.released;
    }
    ASSERT_EQ(CountOf(*session, log::Anomaly::kUnmatchedFrees), reference.unmatched) << round;
    ASSERT_EQ(CountOf(*session, log::Anomaly::kDoubleAllocations), reference.doubled) << round;
    ASSERT_EQ(CountOf(*session, log::Anomaly::kForeignFrees), reference.foreign) << round;
    unmatched += reference.unmatched;
    doubled += reference.doubled;
    foreign += reference.foreign;
  }
  ExpectEveryEnd(seen);
  ExpectEveryEndOfImports(seen_import);
  EXPECT_GT(marked, 100u);
  EXPECT_GT(unmatched, 0u);
  EXPECT_GT(doubled, 0u);
  EXPECT_GT(foreign, 0u);
  EXPECT_GT(outlived, 100u);
}

}  // namespace
}  // namespace memprof::analysis
