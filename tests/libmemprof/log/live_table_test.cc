// The table of live allocations, against a std::map.
#include "libmemprof/src/log/live_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "libmemprof/src/log/vocabulary.h"

namespace memprof::recorder {
namespace {

using ring::RingEvent;

RingEvent Allocation(std::uint64_t address, std::uint64_t bytes, std::uint64_t time) {
  RingEvent event{};
  event.op = kOpAlloc;
  event.layer = kLayerLinear;
  event.address = address;
  event.bytes = bytes;
  event.time_ns = time;
  return event;
}

RingEvent Release(std::uint64_t address, std::uint64_t time) {
  RingEvent event = Allocation(address, 0, time);
  event.op = kOpFree;
  return event;
}

TEST(LiveTable, AgreesWithAMapOnRandomTraffic) {
  std::mt19937 random(11);
  LiveTable table;
  std::map<std::uint64_t, std::uint64_t> reference;
  std::uint64_t live = 0, peak = 0, allocations = 0, frees = 0;
  for (std::uint64_t i = 0; i < 200000; ++i) {
    const std::uint64_t address = 512 * (1 + random() % 8000);
    if (reference.count(address) == 0) {
      const std::uint64_t bytes = random() % 5000;
      table.Apply(Allocation(address, bytes, i));
      reference[address] = bytes;
      live += bytes;
      peak = std::max(peak, live);
      ++allocations;
    } else {
      table.Apply(Release(address, i));
      live -= reference[address];
      reference.erase(address);
      ++frees;
    }
    ASSERT_EQ(table.totals().live_bytes, live);
  }
  EXPECT_EQ(table.totals().peak_bytes, peak);
  EXPECT_EQ(table.totals().allocations, allocations);
  EXPECT_EQ(table.totals().frees, frees);
}

TEST(LiveTable, AFreeThatArrivesFirstSettlesItsAllocation) {
  LiveTable table;
  table.Apply(Release(0x1000, 20));
  EXPECT_EQ(table.totals().frees, 0u);
  table.Apply(Allocation(0x1000, 64, 10));
  EXPECT_EQ(table.totals().live_bytes, 0u);
  EXPECT_EQ(table.totals().frees, 1u);
  table.Apply(Allocation(0x1000, 64, 30));  // the address is allocated again
  EXPECT_EQ(table.totals().live_bytes, 64u);
}

TEST(LiveTable, CountsOnlyWhatOccupiesADevice) {
  LiveTable table;
  RingEvent event = Allocation(0x1000, 64, 1);
  for (const Layer layer : {kLayerPinned, kLayerRegistered, kLayerVmmAddress, kLayerImported,
                            kLayerModule, kLayerSegment, kLayerBlock, kLayerTensor}) {
    event.layer = layer;
    table.Apply(event);
  }
  EXPECT_EQ(table.totals().allocations, 0u);
  for (const Layer layer : {kLayerLinear, kLayerPitched, kLayerArray, kLayerManaged,
                            kLayerStreamOrdered, kLayerVmmPhysical, kLayerGraph}) {
    event.layer = layer;
    event.address += 0x1000;
    table.Apply(event);
  }
  EXPECT_EQ(table.totals().allocations, 7u);
  EXPECT_EQ(table.totals().live_bytes, 7 * 64u);
}

TEST(LiveTable, AFreeGetsTheLayerOfItsBlock) {
  LiveTable table;
  const Layer layers[] = {kLayerLinear,        kLayerPitched, kLayerManaged, kLayerArray,
                          kLayerStreamOrdered, kLayerGraph,   kLayerImported};
  std::uint64_t address = 0x1000;
  for (const Layer layer : layers) {
    RingEvent event = Allocation(address += 0x1000, 1, 1);
    event.layer = layer;
    EXPECT_EQ(table.Apply(event), layer);
  }
  address = 0x1000;
  for (const Layer layer : layers) EXPECT_EQ(table.Apply(Release(address += 0x1000, 2)), layer);
  EXPECT_EQ(table.Apply(Release(0x2000, 3)), kLayerLinear)
      << "an unknown block: by the function's layer";
  RingEvent tensor = Release(0x3000, 4);
  tensor.layer = kLayerTensor;
  EXPECT_EQ(table.Apply(tensor), kLayerTensor);
}

TEST(LiveTable, AFreeOfTheFrameworkDoesNotEndTheMemoryBelow) {
  LiveTable table;
  table.Apply(Allocation(0x1000, 64, 1));
  RingEvent block = Release(0x1000, 2);
  for (const Layer layer : {kLayerBlock, kLayerSegment, kLayerTensor, kLayerVmmAddress}) {
    block.layer = layer;
    table.Apply(block);
  }
  EXPECT_EQ(table.totals().live_bytes, 64u);
}

TEST(LiveTable, AFailedFreeIsTakenBack) {
  LiveTable table;
  RingEvent managed = Allocation(0x1000, 64, 1);
  managed.layer = kLayerManaged;
  table.Apply(managed);
  table.Apply(Release(0x1000, 2));
  EXPECT_EQ(table.totals().frees, 1u);
  RingEvent failed = Release(0x1000, 3);
  failed.op = kOpFreeFailed;
  EXPECT_EQ(table.Apply(failed), kLayerManaged);
  EXPECT_EQ(table.totals().frees, 0u);
  EXPECT_EQ(table.totals().live_bytes, 64u);
  EXPECT_EQ(table.Apply(failed), kLayerLinear) << "only once";
  EXPECT_EQ(table.totals().live_bytes, 64u);
  EXPECT_EQ(table.Apply(Release(0x1000, 4)), kLayerManaged);
  // A failed free of an unknown address leaves no state that could end a later block.
  table.Apply(Release(0x9000, 10));
  failed.address = 0x9000;
  table.Apply(failed);
  table.Apply(Allocation(0x9000, 32, 5));
  EXPECT_EQ(table.totals().live_bytes, 32u);
}

TEST(LiveTable, AnAddressHandedOutTwiceEndsTheOlderBlock) {
  LiveTable table;
  table.Apply(Allocation(0x1000, 64, 1));
  table.Apply(Allocation(0x1000, 10, 2));
  EXPECT_EQ(table.totals().live_bytes, 10u);
  EXPECT_EQ(table.totals().allocations, 2u);
  EXPECT_EQ(table.totals().frees, 0u);
}

TEST(LiveTable, PoolMemoryOutlivesItsContextButNotAReset) {
  LiveTable table;
  std::uint64_t address = 0;
  for (const Layer layer : {kLayerLinear, kLayerStreamOrdered, kLayerVmmPhysical}) {
    RingEvent event = Allocation(address += 0x1000, 10, 1);
    event.layer = layer;
    event.context = 7;
    event.device_plus_1 = 1;
    table.Apply(event);
    event.address += 0x100000;  // the same on another device
    event.context = 8;
    event.device_plus_1 = 2;
    table.Apply(event);
  }
  RingEvent end{};
  end.op = kOpContextDestroy;
  end.context = 7;
  end.device_plus_1 = 1;
  table.Apply(end);
  EXPECT_EQ(table.totals().live_bytes, 50u);
  end.op = kOpDeviceReset;
  table.Apply(end);
  EXPECT_EQ(table.totals().live_bytes, 30u);
  EXPECT_EQ(table.totals().frees, 0u) << "no free was called";
}

// All operations, against a map: also ends of contexts, while the table grows and shrinks.
TEST(LiveTable, AgreesWithAMapThroughContextsAndFailures) {
  struct Block {
    std::uint64_t bytes;
    std::uint32_t context;
    std::uint8_t layer;
  };
  static constexpr Layer kLayers[] = {kLayerLinear, kLayerManaged, kLayerStreamOrdered,
                                      kLayerImported};
  std::mt19937 random(21);
  LiveTable table;
  std::map<std::uint64_t, Block> reference;
  for (std::uint64_t i = 1; i < 60000; ++i) {
    const std::uint64_t address = 256 * (1 + random() % 6000);
    const auto found = reference.find(address);
    RingEvent event = Allocation(address, random() % 100, i);
    if (random() % 3000 == 0) {
      event.op = kOpContextDestroy;
      event.context = 1 + random() % 4;
      std::erase_if(reference, [&event](const auto& block) {
        return block.second.context == event.context && block.second.layer != kLayerStreamOrdered;
      });
    } else if (found == reference.end()) {
      event.context = 1 + random() % 4;
      event.layer = kLayers[random() % 4];
      reference[address] = {event.bytes, event.context, event.layer};
    } else {
      event = Release(address, i);
      ASSERT_EQ(table.Apply(event), found->second.layer);
      if (random() % 4 == 0) {
        event.op = kOpFreeFailed;
        ASSERT_EQ(table.Apply(event), found->second.layer);
      } else {
        reference.erase(found);
      }
      continue;
    }
    table.Apply(event);
    if (i % 64 != 0) continue;
    std::uint64_t live = 0;
    for (const auto& [at, block] : reference)
      live += block.layer == kLayerImported ? 0 : block.bytes;
    ASSERT_EQ(table.totals().live_bytes, live) << i;
  }
}

TEST(LiveTable, TheEndOfAContextFreesWhatWasItsOwn) {
  LiveTable table;
  for (std::uint64_t i = 1; i <= 3000; ++i) {
    RingEvent event = Allocation(i * 512, 10, i);
    event.context = 1 + i % 3;
    table.Apply(event);
  }
  RingEvent end{};
  end.op = kOpContextDestroy;
  end.context = 2;
  table.Apply(end);
  EXPECT_EQ(table.totals().live_bytes, 20000u);
}

}  // namespace
}  // namespace memprof::recorder
