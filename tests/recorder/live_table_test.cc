// The table of what is live, beside a plain map.
#include "libmemprof/src/live_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "libmemprof/src/vocabulary.h"

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
  std::map<std::uint64_t, std::uint64_t> twin;
  std::uint64_t live = 0, peak = 0, allocations = 0, frees = 0;
  for (std::uint64_t i = 0; i < 200000; ++i) {
    const std::uint64_t address = 512 * (1 + random() % 8000);
    if (twin.count(address) == 0) {
      const std::uint64_t bytes = random() % 5000;
      table.Apply(Allocation(address, bytes, i));
      twin[address] = bytes;
      live += bytes;
      peak = std::max(peak, live);
      ++allocations;
    } else {
      table.Apply(Release(address, i));
      live -= twin[address];
      twin.erase(address);
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
  table.Apply(Allocation(0x1000, 64, 30));  // the address lives again
  EXPECT_EQ(table.totals().live_bytes, 64u);
}

TEST(LiveTable, CountsOnlyWhatOccupiesADevice) {
  LiveTable table;
  RingEvent event = Allocation(0x1000, 64, 1);
  for (const Layer layer : {kLayerPinned, kLayerRegistered, kLayerVmmAddress, kLayerImported,
                            kLayerGraph, kLayerSegment, kLayerBlock, kLayerTensor}) {
    event.layer = layer;
    table.Apply(event);
  }
  EXPECT_EQ(table.totals().allocations, 0u);
  for (const Layer layer : {kLayerLinear, kLayerPitched, kLayerArray, kLayerManaged,
                            kLayerStreamOrdered, kLayerVmmPhysical}) {
    event.layer = layer;
    event.address += 0x1000;
    table.Apply(event);
  }
  EXPECT_EQ(table.totals().allocations, 6u);
  EXPECT_EQ(table.totals().live_bytes, 6 * 64u);
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
