// Devices shared by processes: the accounting alone, then through the driver with other processes,
// some of which are killed.
#include "simcuda/driver/shared_devices.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <string>
#include <thread>

#include "driver_fixture.h"
#include "peer.h"

namespace memprof::simcuda {
namespace {

const std::string kGroup = "test-" + std::to_string(getpid());
const std::string kSpec = "memory=1GiB,overhead=64MiB,devices=2,shared=" + kGroup;
SIMCUDA_CONFIGURE(kSpec);

bool Exists(const std::string& object) { return access(("/dev/shm" + object).c_str(), F_OK) == 0; }

// Runs in a child process, because record locks belong to a process. Returns the exit status.
template <class Body>
int InChild(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(SharedDevices, ObjectIsPrivateAndGoesWithTheLast) {
  const std::string name = kGroup + ".object";
  std::string why;
  {
    const auto joined = SharedDevices::Join(name, &why);
    ASSERT_NE(joined, nullptr) << why;
    EXPECT_EQ(joined->object(), "/simcuda." + std::to_string(geteuid()) + "." + name);
    struct stat status;
    ASSERT_EQ(stat(("/dev/shm" + joined->object()).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777u, 0600u);
    EXPECT_LT(status.st_size, 1 << 20);
    EXPECT_EQ(joined->Others(0), 0u);
    // When another process joins and leaves, the object stays for the remaining processes.
    EXPECT_EQ(0, InChild([&] {
                std::string reason;
                auto other = SharedDevices::Join(name, &reason);
                if (other == nullptr) return 1;
                other.reset();
                return Exists(GroupObject(name)) ? 0 : 2;
              }));
    EXPECT_TRUE(Exists(joined->object()));
  }
  EXPECT_FALSE(Exists(GroupObject(name)));
}

TEST(SharedDevices, FiguresEndWithTheirProcess) {
  const std::string name = kGroup + ".figures";
  std::string why;
  const auto joined = SharedDevices::Join(name, &why);
  ASSERT_NE(joined, nullptr) << why;
  joined->Publish(0, 1000);
  int ready[2];
  int done[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::string reason;
    const auto other = SharedDevices::Join(name, &reason);
    if (other == nullptr) _exit(1);
    other->Publish(0, 300);
    other->Publish(1, 70);
    const char seen = other->Others(0) == 1000 && other->Others(1) == 0 ? 'y' : 'n';
    if (write(ready[1], &seen, 1) != 1) _exit(2);
    char wait = 0;
    if (read(done[0], &wait, 1) < 0) _exit(3);
    _exit(0);
  }
  char seen = 0;
  ASSERT_EQ(read(ready[0], &seen, 1), 1);
  EXPECT_EQ(seen, 'y');
  EXPECT_EQ(joined->Others(0), 300u);
  EXPECT_EQ(joined->Others(1), 70u);
  EXPECT_EQ(joined->Others(2), 0u);
  // A killed process cannot clean up. It does not count any more, even before it is reaped.
  kill(child, SIGKILL);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(joined->Others(0), 0u);
  EXPECT_EQ(joined->Others(1), 0u);
  waitpid(child, nullptr, 0);
  // Its slot is free and zeroed.
  EXPECT_EQ(0, InChild([&] {
              std::string reason;
              const auto next = SharedDevices::Join(name, &reason);
              return next != nullptr && next->Others(0) == 1000 && next->Others(1) == 0 ? 0 : 1;
            }));
  EXPECT_EQ(joined->Others(0), 0u);
  for (const int end : {ready[0], ready[1], done[0], done[1]}) close(end);
}

TEST(SharedDevices, LocksExcludeOtherProcessesPerDevice) {
  const std::string name = kGroup + ".locks";
  std::string why;
  const auto joined = SharedDevices::Join(name, &why);
  ASSERT_NE(joined, nullptr) << why;
  // Four processes increment one number with a separate read and write.
  auto* shared = static_cast<volatile int*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      std::string reason;
      const auto mine = SharedDevices::Join(name, &reason);
      if (mine == nullptr) _exit(1);
      for (int round = 0; round < 200; ++round) {
        mine->Lock(3);
        const int value = *shared;
        if (round % 16 == 0) std::this_thread::yield();
        *shared = value + 1;
        mine->Unlock(3);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  EXPECT_EQ(*shared, 800);
  munmap(const_cast<int*>(shared), 4096);
  shm_unlink(joined->object().c_str());
}

TEST(SharedDevices, ForeignObjectsAreRefused) {
  const std::string name = kGroup + ".foreign";
  const std::string object = GroupObject(name);
  std::string why;
  // Writable by other users.
  int file = shm_open(object.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(fchmod(file, 0666), 0);
  EXPECT_EQ(SharedDevices::Join(name, &why), nullptr);
  EXPECT_NE(why.find("another user"), std::string::npos) << why;
  // The size is wrong.
  ASSERT_EQ(fchmod(file, 0600), 0);
  ASSERT_EQ(ftruncate(file, 100), 0);
  EXPECT_EQ(SharedDevices::Join(name, &why), nullptr);
  EXPECT_NE(why.find("another kind"), std::string::npos) << why;
  close(file);
  shm_unlink(object.c_str());
  // The size is right, but the contents are wrong.
  struct stat status;
  {
    const auto joined = SharedDevices::Join(name, &why);
    ASSERT_NE(joined, nullptr);
    ASSERT_EQ(stat(("/dev/shm" + object).c_str(), &status), 0);
  }
  file = shm_open(object.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(ftruncate(file, status.st_size), 0);
  ASSERT_EQ(pwrite(file, "otherwise", 9, 0), 9);
  EXPECT_EQ(SharedDevices::Join(name, &why), nullptr);
  EXPECT_NE(why.find("another kind"), std::string::npos) << why;
  close(file);
  shm_unlink(object.c_str());
}

TEST(SharedDevices, ProcessGroupsHaveNames) {
  EXPECT_EQ(GroupObject("@group"), GroupObject("group." + std::to_string(getpgrp())));
  EXPECT_NE(GroupObject("a"), GroupObject("b"));
}

class SharedDriverTest : public DriverTest {
 protected:
  size_t Free() {
    size_t free = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuMemGetInfo(&free, nullptr));
    return free;
  }
};

TEST_F(SharedDriverTest, OtherProcessesUseShowsAndLimits) {
  EXPECT_EQ(Free(), kGiB - 64 * kMiB);
  Peer peer(kSpec);
  // The context of the other process takes memory too.
  EXPECT_EQ(peer.Ask("alloc 104857600"), "0");
  EXPECT_EQ(Free(), kGiB - 2 * 64 * kMiB - 100 * kMiB);
  EXPECT_EQ(Memory().other_bytes, 164 * kMiB);
  EXPECT_EQ(Memory(1).other_bytes, 0u);
  EXPECT_EQ(peer.AskNumber("info"), Free());
  CUdeviceptr rest = 0;
  const size_t left = Free();
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&rest, left + 1));
  CHECK_CU(cuMemAlloc(&rest, left));
  EXPECT_EQ(peer.AskNumber("info"), 0u);
  EXPECT_EQ(peer.Ask("alloc 2097152"), std::to_string(CUDA_ERROR_OUT_OF_MEMORY));
  CHECK_CU(cuMemFree(rest));
  EXPECT_EQ(peer.AskNumber("info"), left);
  EXPECT_EQ(peer.End(), 0);
  EXPECT_EQ(Free(), kGiB - 64 * kMiB);
}

TEST_F(SharedDriverTest, KilledProcessesGiveTheirMemoryBack) {
  Peer peer(kSpec);
  EXPECT_EQ(peer.Ask("alloc 524288000"), "0");
  EXPECT_EQ(Memory().other_bytes, 564 * kMiB);
  CUdeviceptr block = 0;
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&block, 600 * kMiB));
  peer.Kill();
  EXPECT_EQ(Memory().other_bytes, 0u);
  CHECK_CU(cuMemAlloc(&block, 600 * kMiB));
  CHECK_CU(cuMemFree(block));
}

TEST_F(SharedDriverTest, TogetherTheyNeverExceedTheCapacity) {
  // Both processes allocate until nothing is left; the sum equals the capacity exactly.
  Peer peer(kSpec);
  ASSERT_NE(peer.AskNumber("info"), 0u);
  size_t mine = 0;
  size_t theirs = 0;
  std::vector<CUdeviceptr> blocks;
  std::thread other([&] {
    while (peer.Ask("alloc 2097152") == "0") theirs += 2 * kMiB;
  });
  CUdeviceptr block = 0;
  while (cuMemAlloc(&block, 2 * kMiB) == CUDA_SUCCESS) {
    blocks.push_back(block);
    mine += 2 * kMiB;
  }
  other.join();
  EXPECT_EQ(mine + theirs, kGiB - 2 * 64 * kMiB);
  EXPECT_EQ(Free(), 0u);
  for (const CUdeviceptr one : blocks) CHECK_CU(cuMemFree(one));
}

TEST_F(SharedDriverTest, OtherGroupsDoNotCount) {
  Peer stranger("memory=1GiB,overhead=64MiB,shared=" + kGroup + ".x");
  Peer loner("memory=1GiB,overhead=64MiB");
  EXPECT_EQ(stranger.Ask("alloc 1048576"), "0");
  EXPECT_EQ(loner.Ask("alloc 1048576"), "0");
  EXPECT_EQ(Memory().other_bytes, 0u);
  EXPECT_EQ(loner.AskNumber("info"), kGiB - 66 * kMiB);
}

}  // namespace
}  // namespace memprof::simcuda
