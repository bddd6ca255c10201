// Capacity, granularity and addresses of one device, against a list of live blocks.
#include "simcuda/driver/device_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace memprof::simcuda {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

struct Block {
  Use use;
  uint64_t requested;
  uint64_t granted;
};

// The expected state of the model, computed only from the list of live blocks.
class Reference {
 public:
  void Add(uint64_t address, Use use, uint64_t requested, uint64_t granted) {
    const auto next = live_.lower_bound(address);
    if (next != live_.end()) {
      EXPECT_LE(address + granted, next->first) << "overlap";
    }
    if (next != live_.begin()) {
      const auto before = std::prev(next);
      EXPECT_LE(before->first + before->second.granted, address) << "overlap";
    }
    EXPECT_EQ(address % kSmallAlignment, 0u);
    EXPECT_GE(granted, requested);
    const uint64_t unit = requested >= kPageBytes ? kPageBytes : kSmallAlignment;
    EXPECT_LT(granted - requested, unit);
    if (requested >= kPageBytes) {
      EXPECT_EQ(address % kPageBytes, 0u);
    }
    live_[address] = {use, requested, granted};
  }
  void Remove(uint64_t address) { live_.erase(address); }

  // Every page that a block of this use touches.
  uint64_t Used(Use use) const {
    std::map<uint64_t, Use> pages;
    for (const auto& [address, block] : live_) {
      for (uint64_t page = address / kPageBytes; page * kPageBytes < address + block.granted;
           ++page) {
        const auto [entry, fresh] = pages.emplace(page, block.use);
        EXPECT_EQ(entry->second, block.use) << "a page shared between uses";
      }
    }
    uint64_t bytes = 0;
    for (const auto& [page, owner] : pages) bytes += owner == use ? kPageBytes : 0;
    return bytes;
  }
  const std::map<uint64_t, Block>& live() const { return live_; }

 private:
  std::map<uint64_t, Block> live_;
};

TEST(DeviceMemory, RandomAllocationsAgreeWithTwin) {
  constexpr uint64_t kCapacity = 64 * kMiB;
  DeviceMemory memory(kCapacity);
  Reference reference;
  std::mt19937 random(7);
  for (int round = 0; round < 4000; ++round) {
    if (reference.live().empty() || random() % 7 < 4) {
      const Use use = random() % 3 == 0 ? Use::kArray : Use::kLinear;
      const uint64_t bytes = random() % 3 == 0 ? 1 + random() % (6 * kMiB) : 1 + random() % 100000;
      uint64_t address = 0;
      uint64_t granted = 0;
      if (memory.Allocate(use, bytes, &address, &granted)) {
        reference.Add(address, use, bytes, granted);
      } else {
        // Refused: then there are not enough free pages for the whole request.
        EXPECT_LT(memory.free_bytes(), RoundUp(bytes, kPageBytes));
      }
    } else {
      auto victim = reference.live().begin();
      std::advance(victim, static_cast<std::ptrdiff_t>(random() % reference.live().size()));
      const uint64_t address = victim->first;
      memory.Free(victim->second.use, address, victim->second.granted);
      reference.Remove(address);
    }
    if (round % 16 == 0) {
      ASSERT_EQ(memory.used(Use::kLinear), reference.Used(Use::kLinear));
      ASSERT_EQ(memory.used(Use::kArray), reference.Used(Use::kArray));
      ASSERT_EQ(memory.free_bytes(),
                kCapacity - reference.Used(Use::kLinear) - reference.Used(Use::kArray));
    }
  }
  while (!reference.live().empty()) {
    const auto [address, block] = *reference.live().begin();
    memory.Free(block.use, address, block.granted);
    reference.Remove(address);
  }
  EXPECT_EQ(memory.free_bytes(), kCapacity);
}

TEST(DeviceMemory, FillsToTheLastPage) {
  DeviceMemory memory(16 * kMiB);
  uint64_t address = 0;
  uint64_t granted = 0;
  for (int i = 0; i < 7; ++i)
    ASSERT_TRUE(memory.Allocate(Use::kLinear, 2 * kMiB, &address, &granted));
  // The last page takes 4096 blocks of 512 bytes.
  for (int i = 0; i < 4096; ++i) ASSERT_TRUE(memory.Allocate(Use::kLinear, 1, &address, &granted));
  EXPECT_EQ(memory.free_bytes(), 0u);
  EXPECT_FALSE(memory.Allocate(Use::kLinear, 1, &address, &granted));
  memory.Free(Use::kLinear, address, granted);
  EXPECT_TRUE(memory.Allocate(Use::kLinear, 512, &address, &granted));
}

TEST(DeviceMemory, CapacityIsVirtual) {
  DeviceMemory memory(uint64_t{80} << 30);
  uint64_t address = 0;
  uint64_t granted = 0;
  ASSERT_TRUE(memory.Allocate(Use::kLinear, uint64_t{79} << 30, &address, &granted));
  // Both ends can be written although the machine does not have 79 GiB.
  *reinterpret_cast<volatile char*>(address) = 1;
  *reinterpret_cast<volatile char*>(address + granted - 1) = 2;
  EXPECT_EQ(*reinterpret_cast<volatile char*>(address + granted - 1), 2);
  memory.Free(Use::kLinear, address, granted);
  // The memory was returned to the machine: the same addresses contain zeros again.
  uint64_t again = 0;
  ASSERT_TRUE(memory.Allocate(Use::kLinear, uint64_t{79} << 30, &again, &granted));
  EXPECT_EQ(again, address);
  EXPECT_EQ(*reinterpret_cast<volatile char*>(again), 0);
}

TEST(DeviceMemory, ManagedMemoryGivesWay) {
  DeviceMemory memory(32 * kMiB);
  EXPECT_EQ(memory.ChargeUpTo(Use::kManaged, 48 * kMiB), 32 * kMiB);
  EXPECT_EQ(memory.free_bytes(), 0u);
  uint64_t address = 0;
  uint64_t granted = 0;
  ASSERT_TRUE(memory.Allocate(Use::kLinear, 10 * kMiB, &address, &granted));
  EXPECT_EQ(memory.used(Use::kManaged), 22 * kMiB);
  EXPECT_EQ(memory.free_bytes(), 0u);
  memory.Refund(Use::kManaged, 32 * kMiB);
  EXPECT_EQ(memory.used(Use::kManaged), 0u);
  EXPECT_EQ(memory.free_bytes(), 22 * kMiB);
  EXPECT_FALSE(memory.Charge(Use::kVmm, 23 * kMiB));
  EXPECT_TRUE(memory.Charge(Use::kVmm, 22 * kMiB));
}

TEST(DeviceMemory, TinyDeviceHasNoPage) {
  DeviceMemory memory(1000000);
  uint64_t address = 0;
  uint64_t granted = 0;
  EXPECT_FALSE(memory.Allocate(Use::kLinear, 1, &address, &granted));
  EXPECT_EQ(memory.free_bytes(), 1000000u);
}

TEST(DeviceMemoryDeathTest, FreedPagesFault) {
  EXPECT_EXIT(
      {
        DeviceMemory memory(16 * kMiB);
        uint64_t address = 0;
        uint64_t granted = 0;
        memory.Allocate(Use::kLinear, 4 * kMiB, &address, &granted);
        memory.Free(Use::kLinear, address, granted);
        signal(SIGSEGV, [](int) { _exit(77); });
        *reinterpret_cast<volatile char*>(address) = 1;
        _exit(0);
      },
      testing::ExitedWithCode(77), "");
}

// Records the calls that a device makes to coordinate with other processes.
struct RecordingShare : CapacityShare {
  RecordingShare(std::vector<std::string>* calls, const uint64_t* others)
      : calls_(calls), others_(others) {}
  void Lock() override { calls_->emplace_back("lock"); }
  void Unlock() override { calls_->emplace_back("unlock"); }
  uint64_t Others() const override {
    calls_->emplace_back("others");
    return *others_;
  }
  void Publish(uint64_t bytes) override {
    calls_->push_back("publish " + std::to_string(bytes / kMiB));
  }
  std::vector<std::string>* calls_;
  const uint64_t* others_;
};

TEST(DeviceMemory, SharedCapacityIsTakenUnderTheLock) {
  using Calls = std::vector<std::string>;
  Calls calls;
  uint64_t others = 10 * kMiB;
  DeviceMemory memory(32 * kMiB, std::make_unique<RecordingShare>(&calls, &others));
  EXPECT_EQ(memory.free_bytes(), 22 * kMiB);
  EXPECT_EQ(memory.other_bytes(), 10 * kMiB);
  calls.clear();
  ASSERT_TRUE(memory.Charge(Use::kVmm, 20 * kMiB));
  EXPECT_EQ(calls, (Calls{"lock", "others", "publish 20", "unlock"}));
  calls.clear();
  EXPECT_FALSE(memory.Charge(Use::kVmm, 4 * kMiB));
  EXPECT_EQ(calls, (Calls{"lock", "others", "unlock"}));
  calls.clear();
  EXPECT_EQ(memory.ChargeUpTo(Use::kManaged, 8 * kMiB), 2 * kMiB);
  EXPECT_EQ(calls, (Calls{"lock", "others", "publish 22", "unlock"}));
  // A refund needs no lock, but must be published.
  calls.clear();
  memory.Refund(Use::kVmm, 20 * kMiB);
  EXPECT_EQ(calls, (Calls{"publish 2"}));
  uint64_t address = 0;
  uint64_t granted = 0;
  ASSERT_TRUE(memory.Allocate(Use::kLinear, 3 * kMiB, &address, &granted));
  calls.clear();
  memory.Free(Use::kLinear, address, granted);
  EXPECT_EQ(calls, (Calls{"publish 2"}));
  // The other processes may report more than the capacity if they use a larger device.
  others = 100 * kMiB;
  EXPECT_EQ(memory.free_bytes(), 0u);
  EXPECT_FALSE(memory.Charge(Use::kVmm, 4 * kMiB));
}

TEST(DeviceMemory, SetAsideAndPutBack) {
  std::vector<std::string> calls;
  uint64_t others = 0;
  DeviceMemory memory(32 * kMiB, std::make_unique<RecordingShare>(&calls, &others));
  ASSERT_TRUE(memory.Charge(Use::kVmm, 20 * kMiB));
  memory.SetAside();
  EXPECT_EQ(calls.back(), "publish 0");
  EXPECT_EQ(memory.free_bytes(), 32 * kMiB);
  EXPECT_EQ(memory.used(Use::kVmm), 20 * kMiB);
  others = 12 * kMiB + 1;
  EXPECT_FALSE(memory.PutBack());
  EXPECT_EQ(memory.free_bytes(), 20 * kMiB - 1);
  others = 12 * kMiB;
  EXPECT_TRUE(memory.PutBack());
  EXPECT_EQ(memory.free_bytes(), 0u);
}

TEST(DeviceMemory, SharedPagesKeepTheirContentsAndAddresses) {
  DeviceMemory memory(64 * kMiB);
  uint64_t address = 0;
  uint64_t granted = 0;
  ASSERT_TRUE(memory.Allocate(Use::kLinear, 6 * kMiB, &address, &granted));
  auto* bytes = reinterpret_cast<unsigned char*>(address);
  std::mt19937 random(2);
  std::map<uint64_t, unsigned char> written;
  for (int i = 0; i < 300; ++i) {
    const uint64_t at = random() % (6 * kMiB);
    bytes[at] = written[at] = static_cast<unsigned char>(1 + random() % 255);
  }
  SharedPages pages;
  ASSERT_TRUE(memory.SharePages(address, 6 * kMiB, &pages));
  EXPECT_EQ(pages.start, address);
  EXPECT_EQ(pages.bytes, 6 * kMiB);
  for (const auto& [at, value] : written) {
    unsigned char byte = 0;
    ASSERT_EQ(pread(pages.descriptor, &byte, 1, static_cast<off_t>(at)), 1);
    EXPECT_EQ(byte, value);
    EXPECT_EQ(bytes[at], value);
  }
  bytes[5] = 201;
  unsigned char byte = 0;
  ASSERT_EQ(pread(pages.descriptor, &byte, 1, 5), 1);
  EXPECT_EQ(byte, 201);
  // A part of the range is in the same file; a range that extends beyond it is not in one file.
  SharedPages again;
  ASSERT_TRUE(memory.SharePages(address + 2 * kMiB, 2 * kMiB, &again));
  EXPECT_EQ(again.descriptor, pages.descriptor);
  EXPECT_EQ(again.start, address);
  EXPECT_FALSE(memory.SharePages(address + 4 * kMiB, 4 * kMiB, &again));
  // After the free, the pages are ordinary and zeroed again.
  memory.Free(Use::kLinear, address, granted);
  EXPECT_EQ(fcntl(pages.descriptor, F_GETFD), -1);
  uint64_t next = 0;
  ASSERT_TRUE(memory.Allocate(Use::kLinear, 6 * kMiB, &next, &granted));
  ASSERT_EQ(next, address);
  EXPECT_EQ(bytes[5], 0);
  memory.Free(Use::kLinear, next, granted);
}

}  // namespace
}  // namespace memprof::simcuda
