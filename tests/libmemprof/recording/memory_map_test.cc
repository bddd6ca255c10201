// What lies where in this process.
#include "libmemprof/src/recording/internal/memory_map.h"

#include <gtest/gtest.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "libmemprof/src/base/sys.h"
#include "tests/libmemprof/recording/sanitized.h"

namespace memprof::recorder {
namespace {

using Kind = Spot::Kind;

std::uint64_t AddressOf(const volatile void* memory) {
  return reinterpret_cast<std::uint64_t>(const_cast<const void*>(memory));
}

int g_variable[4] = {1, 2, 3, 4};
thread_local volatile int t_variable[4] = {1, 2, 3, 4};

class MemoryMapTest : public ::testing::Test {
 protected:
  void Read() { ASSERT_TRUE(map_.Read(AddressOf(__builtin_frame_address(0)), nullptr, 0)); }
  MemoryMap map_{~std::uint64_t{0}};
};

TEST_F(MemoryMapTest, VariablesAreInTheirModule) {
  Read();
  const Spot spot = map_.Find(AddressOf(&g_variable[2]));
  ASSERT_EQ(spot.kind, Kind::kGlobal);
  char path[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", path, sizeof path - 1), 0);
  EXPECT_STREQ(map_.modules().PathOf(*spot.module), path);
  EXPECT_EQ(spot.offset - map_.Find(AddressOf(&g_variable[0])).offset, 8u);
}

TEST_F(MemoryMapTest, ThreadLocalOnesToo) {
  Read();
  const Spot spot = map_.Find(AddressOf(&t_variable[2]));
  ASSERT_EQ(spot.kind, Kind::kThreadLocal);
  ASSERT_NE(spot.module, nullptr);
  EXPECT_EQ(spot.offset - map_.Find(AddressOf(&t_variable[0])).offset, 8u);
}

TEST_F(MemoryMapTest, AStackIsDeadBelowItsFrame) {
  volatile int here = 0;
  Read();
  const Spot spot = map_.Find(AddressOf(&here));
  EXPECT_EQ(spot.kind, Kind::kStack);
  EXPECT_EQ(spot.number, CurrentTid());
  EXPECT_EQ(map_.Find(AddressOf(__builtin_frame_address(0)) - 8192).kind, Kind::kNothing);
}

TEST_F(MemoryMapTest, OtherThreadsHaveStacksAndVariables) {
  if (kSanitized) GTEST_SKIP() << "sanitizers have stacks of their own";
  std::uint64_t on_stack = 0, local = 0;
  std::uint32_t tid = 0;
  sem_t ready, done;
  sem_init(&ready, 0, 0);
  sem_init(&done, 0, 0);
  std::thread other([&] {
    volatile int here = 0;
    on_stack = AddressOf(&here);
    local = AddressOf(&t_variable[2]);
    tid = CurrentTid();
    sem_post(&ready);
    while (sem_wait(&done) != 0) {
    }
  });
  sem_wait(&ready);
  Spot spot;
  for (int tries = 0; tries < 1000 && spot.kind != Kind::kStack; ++tries) {  // until it waits
    usleep(1000);
    MemoryMap map(~std::uint64_t{0});
    ASSERT_TRUE(map.Read(AddressOf(__builtin_frame_address(0)), nullptr, 0));
    spot = map.Find(on_stack);
  }
  EXPECT_EQ(spot.kind, Kind::kStack);
  EXPECT_EQ(spot.number, tid);
  Read();
  EXPECT_EQ(map_.Find(on_stack - 65536).kind, Kind::kNothing) << "dead";
  spot = map_.Find(local);
  if (arch::kThreadsPointToThemselves) {
    EXPECT_EQ(spot.kind, Kind::kThreadLocal);
    EXPECT_EQ(spot.offset, map_.Find(AddressOf(&t_variable[2])).offset);
  }
  sem_post(&done);
  other.join();
}

// Of a coroutine, say: what else lies there is no stack.
TEST_F(MemoryMapTest, AStackInOtherMemoryIsNoStack) {
  if (kSanitized) GTEST_SKIP() << "sanitizers have stacks of their own";
  const auto block = std::make_unique<char[]>(65536);
  ASSERT_TRUE(map_.Read(AddressOf(block.get()) + 32768, nullptr, 0));
  EXPECT_EQ(map_.Find(AddressOf(block.get()) + 100).kind, Kind::kBlock);
  EXPECT_EQ(map_.Find(AddressOf(block.get()) + 40000).kind, Kind::kBlock);
}

// Seen from another thread.
TEST_F(MemoryMapTest, TheMainThreadHasVariablesToo) {
  if (kSanitized || !arch::kThreadsPointToThemselves || getpid() != gettid()) GTEST_SKIP();
  const std::uint64_t local = AddressOf(&t_variable[1]);
  Spot spot;
  std::thread([&] {
    for (int tries = 0; tries < 1000 && spot.kind != Kind::kThreadLocal; ++tries) {
      usleep(1000);
      MemoryMap map(~std::uint64_t{0});
      ASSERT_TRUE(map.Read(AddressOf(__builtin_frame_address(0)), nullptr, 0));
      spot = map.Find(local);
    }
  }).join();
  EXPECT_EQ(spot.kind, Kind::kThreadLocal);
}

TEST_F(MemoryMapTest, MappingsOfFilesAndOfNothing) {
  char path[] = "/tmp/memory_map_test.XXXXXX";
  const int file = mkstemp(path);
  ASSERT_GE(file, 0);
  ASSERT_EQ(ftruncate(file, 8192), 0);
  void* of_file = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  void* of_none = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Read();
  Spot spot = map_.Find(AddressOf(of_file) + 100);
  EXPECT_EQ(spot.kind, Kind::kFile);
  EXPECT_STREQ(map_.PathOf(spot.number), path);
  spot = map_.Find(AddressOf(of_none) + 100);
  EXPECT_EQ(spot.kind, Kind::kAnonymous);
  EXPECT_GE(map_.BytesOf(spot.number), 8192u);
  munmap(of_file, 8192);
  munmap(of_none, 8192);
  close(file);
  unlink(path);
  EXPECT_EQ(map_.Find(8).kind, Kind::kNothing);
}

TEST_F(MemoryMapTest, TheCLibrarysVariablesHoldNothing) {
  Read();
  EXPECT_EQ(map_.Find(AddressOf(&stdout)).kind,
            map_.modules().Find(AddressOf(&stdout)).module->owner == ModuleData::Owner::kNobody
                ? Kind::kNothing
                : Kind::kGlobal);  // a copy in the program
  EXPECT_EQ(map_.Find(AddressOf(stdout)).kind, Kind::kNothing);
}

TEST(OwnerOfFileTest, ByName) {
  using Owner = ModuleData::Owner;
  EXPECT_EQ(OwnerOfFile("/usr/lib/x86_64-linux-gnu/libcuda.so.1"), Owner::kDriver);
  EXPECT_EQ(OwnerOfFile("/usr/lib/libnvidia-ptxjitcompiler.so.1"), Owner::kDriver);
  EXPECT_EQ(OwnerOfFile("/dev/nvidiactl"), Owner::kDriver);
  EXPECT_EQ(OwnerOfFile("/opt/memprof/lib/libmemprof.so"), Owner::kNobody);
  EXPECT_EQ(OwnerOfFile("/lib/x86_64-linux-gnu/libc.so.6"), Owner::kNobody);
  EXPECT_EQ(OwnerOfFile("/usr/lib/libcudart.so.12"), Owner::kProgram);
  EXPECT_EQ(OwnerOfFile("/home/user/libc.so.d/trainer"), Owner::kProgram);
  EXPECT_EQ(OwnerOfFile("trainer"), Owner::kProgram);
}

}  // namespace
}  // namespace memprof::recorder
