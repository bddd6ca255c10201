// References to physical memory, against sets of references.
#include "libmemprof/src/driver/vmm_ledger.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "libmemprof/src/log/vocabulary.h"

namespace memprof::recorder {
namespace {

// The reference model: one set of references for each handle.
TEST(VmmLedger, LastReferenceAgreesWithATwin) {
  std::mt19937 random(3);
  VmmLedger ledger;
  struct Reference {
    int references = 0;
    std::multiset<std::uint64_t> mapped;
  };
  std::map<std::uint64_t, Reference> reference;
  std::uint64_t next_handle = 1;
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t handle =
        reference.empty() ? 0 : std::next(reference.begin(), random() % reference.size())->first;
    switch (random() % 5) {
      case 0:
        if (reference.size() > 20) break;
        ledger.Create(next_handle, 100, 0, kLayerVmmPhysical);
        reference[next_handle++].references = 1;
        break;
      case 1:
        if (handle == 0 || reference[handle].references == 0) break;
        ledger.Retain(handle);
        ++reference[handle].references;
        break;
      case 2: {
        if (handle == 0 || reference[handle].references == 0) break;
        const VmmLedger::Physical gone = ledger.Release(handle);
        const bool last = --reference[handle].references == 0 && reference[handle].mapped.empty();
        ASSERT_EQ(gone.last, last);
        if (last) reference.erase(handle);
        break;
      }
      case 3: {
        if (handle == 0 || reference[handle].references == 0) break;
        const std::uint64_t address = 4096 * (1 + random() % 1000000) + handle;
        ledger.Map(address, 1, handle);
        reference[handle].mapped.insert(address);
        break;
      }
      default: {
        if (handle == 0 || reference[handle].mapped.empty()) break;
        const std::uint64_t address = *reference[handle].mapped.begin();
        VmmLedger::Mapping mapping;
        VmmLedger::Physical physical;
        ASSERT_TRUE(ledger.Unmap(address, 1, &mapping, &physical));
        ASSERT_EQ(mapping.address, address);
        reference[handle].mapped.erase(reference[handle].mapped.begin());
        const bool last = reference[handle].references == 0 && reference[handle].mapped.empty();
        ASSERT_EQ(physical.last, last);
        ASSERT_EQ(physical.bytes, 100u);
        if (last) reference.erase(handle);
        break;
      }
    }
  }
}

TEST(VmmLedger, NothingIsKnownOfWhatWasNeverCreated) {
  VmmLedger ledger;
  EXPECT_EQ(ledger.Release(5).handle, 0u);
  EXPECT_FALSE(ledger.Release(5).last);
  EXPECT_EQ(ledger.DeviceOf(5), -1);
  ledger.Retain(5);
  ledger.Map(0x1000, 16, 5);
  VmmLedger::Mapping mapping;
  VmmLedger::Physical physical;
  ASSERT_TRUE(ledger.Unmap(0x1000, 16, &mapping, &physical)) << "the map itself is known";
  EXPECT_EQ(mapping.handle, 5u);
  EXPECT_EQ(physical.handle, 0u);
  EXPECT_FALSE(physical.last);
  EXPECT_FALSE(ledger.Unmap(0x1000, 16, &mapping, &physical));
}

TEST(VmmLedger, CreatingAKnownHandleIsAnotherReference) {
  VmmLedger ledger;  // an import of memory that this process already has
  ledger.Create(1, 10, 3, kLayerVmmPhysical);
  ledger.Create(1, 0, 0, kLayerImported);
  EXPECT_EQ(ledger.DeviceOf(1), 3);
  EXPECT_FALSE(ledger.Release(1).last);
  const VmmLedger::Physical gone = ledger.Release(1);
  EXPECT_TRUE(gone.last);
  EXPECT_EQ(gone.layer, kLayerVmmPhysical);
  EXPECT_EQ(gone.bytes, 10u);
}

TEST(VmmLedger, AMapThatIsOnlyPartlyCoveredStays) {
  VmmLedger ledger;
  ledger.Create(1, 10, 0, kLayerVmmPhysical);
  ledger.Map(1000, 10, 1);
  VmmLedger::Mapping mapping;
  VmmLedger::Physical physical;
  EXPECT_FALSE(ledger.Unmap(1000, 9, &mapping, &physical));
  EXPECT_FALSE(ledger.Unmap(1001, 10, &mapping, &physical));
  EXPECT_FALSE(ledger.Unmap(0, 1009, &mapping, &physical));
  EXPECT_TRUE(ledger.Unmap(1000, 10, &mapping, &physical));
}

TEST(VmmLedger, OneUnmapMayCoverSeveralMaps) {
  VmmLedger ledger;
  ledger.Create(1, 10, 0, kLayerVmmPhysical);
  ledger.Map(1000, 10, 1);
  ledger.Map(1010, 10, 1);
  ledger.Map(1020, 10, 1);
  VmmLedger::Mapping mapping;
  VmmLedger::Physical physical;
  int removed = 0;
  while (ledger.Unmap(1000, 20, &mapping, &physical)) ++removed;
  EXPECT_EQ(removed, 2);
  EXPECT_FALSE(ledger.Release(1).last);
  ASSERT_TRUE(ledger.Unmap(1020, 10, &mapping, &physical));
  EXPECT_TRUE(physical.last);
  EXPECT_EQ(ledger.Release(1).handle, 0u) << "gone";
}

TEST(VmmLedger, AnotherHandleOfTheSameMemoryIsAReferenceToIt) {
  VmmLedger ledger;
  EXPECT_FALSE(ledger.Alias(8, 7)) << "an unknown handle";
  EXPECT_TRUE(ledger.Create(7, 100, 2, kLayerVmmPhysical));
  EXPECT_TRUE(ledger.Alias(8, 7));
  EXPECT_TRUE(ledger.Alias(8, 7)) << "imported twice";
  EXPECT_EQ(ledger.PhysicalOf(8).handle, 7u);
  EXPECT_EQ(ledger.PhysicalOrHandle(8).handle, 7u);
  EXPECT_EQ(ledger.PhysicalOrHandle(9).handle, 9u) << "an unknown handle stands for itself";
  EXPECT_EQ(ledger.DeviceOf(8), 2);
  EXPECT_FALSE(ledger.Release(7).last);
  EXPECT_FALSE(ledger.Release(8).last);
  ledger.Map(0x1000, 100, 8);
  EXPECT_FALSE(ledger.Release(8).last) << "mapped";
  VmmLedger::Mapping mapping;
  VmmLedger::Physical gone;
  ASSERT_TRUE(ledger.Unmap(0x1000, 100, &mapping, &gone));
  EXPECT_TRUE(gone.last);
  EXPECT_EQ(gone.handle, 7u);
  EXPECT_EQ(ledger.PhysicalOf(8).handle, 0u) << "the alias ended with it";
  EXPECT_TRUE(ledger.Create(7, 50, 0, kLayerVmmPhysical)) << "a reused handle";
  EXPECT_EQ(ledger.PhysicalOf(8).handle, 0u) << "the old alias does not refer to the new memory";
  EXPECT_TRUE(ledger.Create(8, 50, 0, kLayerVmmPhysical)) << "but may be used for new memory";
}

TEST(VmmLedger, AKnownHandleIsNoSecondMemory) {
  VmmLedger ledger;
  EXPECT_TRUE(ledger.Create(7, 100, 2, kLayerVmmPhysical));
  EXPECT_FALSE(ledger.Create(7, 0, 0, kLayerImported));
  EXPECT_FALSE(ledger.Release(7).last);
  const VmmLedger::Physical gone = ledger.Release(7);
  EXPECT_TRUE(gone.last);
  EXPECT_EQ(gone.bytes, 100u);
  EXPECT_EQ(gone.layer, kLayerVmmPhysical);
}

TEST(VmmLedger, WhatElseHoldsMemoryCountsAsAMap) {
  VmmLedger ledger;
  EXPECT_FALSE(ledger.Hold(7));
  EXPECT_FALSE(ledger.Drop(7).last);
  ledger.Create(7, 100, 2, kLayerVmmPhysical);
  EXPECT_TRUE(ledger.Hold(7));
  EXPECT_FALSE(ledger.Release(7).last);
  EXPECT_TRUE(ledger.Drop(7).last);
}

}  // namespace
}  // namespace memprof::recorder
