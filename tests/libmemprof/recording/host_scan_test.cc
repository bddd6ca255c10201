// Counts words that point to given addresses, in every kind of memory.
#include "libmemprof/src/recording/host_scan.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <iterator>
#include <memory>
#include <vector>

#include "libmemprof/src/base/sys.h"
#include "libmemprof/src/recording/internal/pointer_scan.h"
#include "tests/libmemprof/recording/sanitized.h"

namespace memprof::recorder {
namespace {

// No memory is mapped there, so only this test has such words; they are computed at run time.
constexpr std::uint64_t kBase = 0x00005aa5'0000'0000;
constexpr std::uint64_t kBytes = 0x10000;
constexpr std::uint64_t kNever = ~std::uint64_t{0};

std::uint64_t Address(int target) {
  const volatile std::uint64_t high = kBase >> 32;
  return (high << 32) + static_cast<std::uint64_t>(target) * 0x100000;
}

// The targets are in the recorder's memory, as in a real scan.
class HostScanTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kCount = 4;
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "sanitizers keep copies of words";
    targets_ = static_cast<ScanTarget*>(MapMemory(kCount * sizeof(ScanTarget)));
    ASSERT_NE(targets_, nullptr);
  }
  void TearDown() override { UnmapMemory(targets_, kCount * sizeof(ScanTarget)); }

  std::vector<std::uint32_t> Count(std::uint64_t deadline = kNever) {
    for (std::size_t i = 0; i < kCount; ++i)
      targets_[i] = {Address(static_cast<int>(i)), kBytes, 0, 1, 1, 0, 0};
    result_ = CountReferences(targets_, kCount, deadline);
    std::vector<std::uint32_t> references;
    for (std::size_t i = 0; i < kCount; ++i) references.push_back(targets_[i].references);
    return references;
  }

  ScanTarget* targets_ = nullptr;
  ScanResult result_{};
};

volatile std::uint64_t g_word;

// By functions of their own, because a compiler that does not optimise keeps copies on the stack.
[[gnu::noinline]] void WriteWords(std::uint64_t* words) {
  words[0] = Address(0);
  words[1] = Address(0) + kBytes - 1;  // inside
  words[2] = Address(0) + kBytes;      // outside
  words[3] = Address(0) - 1;           // outside
  g_word = Address(1);
}
[[gnu::noinline]] void ClearStack() {
  volatile char frames[4096];
  for (volatile char& c : frames) c = 0;
}

TEST_F(HostScanTest, FindsWordsOnTheHeapInDataAndOnTheStack) {
  const std::vector<std::uint32_t> before = Count();
  EXPECT_TRUE(result_.complete);
  EXPECT_GT(result_.bytes, 0u);
  const auto heap = std::make_unique<std::uint64_t[]>(1000);
  WriteWords(heap.get() + 500);
  ClearStack();
  volatile std::uint64_t on_stack = Address(2);
  const std::vector<std::uint32_t> after = Count();
  EXPECT_EQ(after[0], before[0] + 2);
  EXPECT_EQ(after[1], before[1] + 1);
  EXPECT_GE(after[2], before[2] + 1);
  EXPECT_EQ(after[3], before[3]);
  EXPECT_NE(on_stack, 0u);
  g_word = 0;
}

TEST_F(HostScanTest, LeavesOutWhatIsNoWordOrNoMemoryOfTheProgram) {
  const std::vector<std::uint32_t> before = Count();
  auto* own = static_cast<std::uint64_t*>(MapMemory(1 << 16));
  ASSERT_NE(own, nullptr);
  own[1000] = Address(0);
  const auto heap = std::make_unique<char[]>(4096);
  const std::uint64_t inverse = ~Address(1);  // avoids a copy of the address on the stack
  for (int i = 0; i < 8; ++i) heap[1025 + i] = static_cast<char>(~inverse >> 8 * i);
  auto* unreadable = static_cast<std::uint64_t*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  unreadable[7] = Address(2);
  mprotect(unreadable, 4096, PROT_NONE);
  const std::vector<std::uint32_t> after = Count();
  EXPECT_LE(after[0], before[0]);  // fewer if a word left by another test was overwritten
  EXPECT_LE(after[1], before[1]);
  EXPECT_LE(after[2], before[2]);
  UnmapMemory(own, 1 << 16);
  munmap(unreadable, 4096);
}

TEST_F(HostScanTest, WhatWasReleasedIsTheProgramsAgain) {
  void* own = MapMemory(1 << 16);
  UnmapMemory(own, 1 << 16);
  auto* again = static_cast<std::uint64_t*>(
      mmap(own, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(again, MAP_FAILED);
  const std::vector<std::uint32_t> before = Count();
  again[1000] = Address(3);
  EXPECT_EQ(Count()[3], before[3] + 1);
  munmap(again, 1 << 16);
}

TEST_F(HostScanTest, FollowsMemoryThatGrows) {
  const std::vector<std::uint32_t> before = Count();
  void* own = GrowMemory(nullptr, 0, 4096);
  own = GrowMemory(own, 4096, 1 << 20);
  ASSERT_NE(own, nullptr);
  static_cast<std::uint64_t*>(own)[100'000] = Address(0);
  EXPECT_EQ(Count()[0], before[0]);
  UnmapMemory(own, 1 << 20);
}

TEST_F(HostScanTest, HardlyUsedAddressSpaceCostsNothing) {
  constexpr std::size_t kLarge = std::size_t{64} << 30;
  auto* sparse = static_cast<std::uint64_t*>(mmap(
      nullptr, kLarge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (sparse == MAP_FAILED) GTEST_SKIP() << "this machine promises no memory that it has not";
  const std::vector<std::uint32_t> before = Count();
  sparse[kLarge / 8 - 3] = Address(1);
  EXPECT_EQ(Count()[1], before[1] + 1);
  EXPECT_LT(result_.bytes, kLarge / 8);
  munmap(sparse, kLarge);
}

// As in some containers: process_vm_readv fails with EPERM.
bool ForbidProcessVmReadv() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_F(HostScanTest, ReadsByAnotherWayWhereTheFirstIsForbidden) {
  g_word = Address(1);
  const pid_t child = fork();
  if (child == 0) {
    if (!ForbidProcessVmReadv()) _exit(77);
    auto* target = static_cast<ScanTarget*>(MapMemory(sizeof(ScanTarget)));
    *target = {Address(1), kBytes, 0, 1, 1, 0, 0};
    const ScanResult result = CountReferences(target, 1, kNever);
    _exit(result.complete && target->references >= 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  g_word = 0;
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "seccomp is not to be had";
  EXPECT_EQ(status, 0);
}

TEST_F(HostScanTest, GivesUpAtItsDeadline) {
  Count(0);
  EXPECT_FALSE(result_.complete);
}

TEST(OwnRangesTest, AreInOrderAndApart) {
  std::vector<void*> mapped;
  for (int i = 0; i < 20; ++i) mapped.push_back(MapMemory(4096 * (i % 3 + 1)));
  for (int i = 0; i < 20; i += 2) UnmapMemory(mapped[i], 4096 * (i % 3 + 1));
  std::vector<OwnRange> ranges(kMaxOwnRanges);
  std::size_t count = 0;
  ASSERT_TRUE(CopyOwnRanges(ranges.data(), &count));
  for (std::size_t i = 1; i < count; ++i) EXPECT_LE(ranges[i - 1].end, ranges[i].begin);
  for (int i = 0; i < 20; ++i) {
    const auto begin = reinterpret_cast<std::uintptr_t>(mapped[i]);
    bool found = false;
    for (std::size_t r = 0; r < count; ++r) found |= ranges[r].begin == begin;
    EXPECT_EQ(found, i % 2 == 1) << i;
    if (i % 2 == 1) UnmapMemory(mapped[i], 4096 * (i % 3 + 1));
  }
}

}  // namespace
}  // namespace memprof::recorder
