// The process checkpoint: its states, the calls that it blocks, and the memory that it removes from
// the devices.
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "driver_fixture.h"
#include "peer.h"

namespace memprof::simcuda {
namespace {

const std::string kSpec =
    "memory=256MiB,overhead=16MiB,devices=2,shared=checkpoint-" + std::to_string(getpid());
SIMCUDA_CONFIGURE(kSpec);

class CheckpointTest : public DriverTest {
 protected:
  static CUprocessState State() {
    CUprocessState state = CU_PROCESS_STATE_FAILED;
    EXPECT_EQ(CUDA_SUCCESS, cuCheckpointProcessGetState(getpid(), &state));
    return state;
  }
};

TEST_F(CheckpointTest, StatesFollowEachOther) {
  const int self = getpid();
  EXPECT_EQ(State(), CU_PROCESS_STATE_RUNNING);
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_STATE, cuCheckpointProcessCheckpoint(self, nullptr));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_STATE, cuCheckpointProcessRestore(self, nullptr));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_STATE, cuCheckpointProcessUnlock(self, nullptr));
  CHECK_CU(cuCheckpointProcessLock(self, nullptr));
  EXPECT_EQ(State(), CU_PROCESS_STATE_LOCKED);
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_STATE, cuCheckpointProcessLock(self, nullptr));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_STATE, cuCheckpointProcessRestore(self, nullptr));
  CHECK_CU(cuCheckpointProcessCheckpoint(self, nullptr));
  EXPECT_EQ(State(), CU_PROCESS_STATE_CHECKPOINTED);
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_STATE, cuCheckpointProcessUnlock(self, nullptr));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_STATE, cuCheckpointProcessCheckpoint(self, nullptr));
  CHECK_CU(cuCheckpointProcessRestore(self, nullptr));
  EXPECT_EQ(State(), CU_PROCESS_STATE_LOCKED);
  CHECK_CU(cuCheckpointProcessUnlock(self, nullptr));
  EXPECT_EQ(State(), CU_PROCESS_STATE_RUNNING);
}

TEST_F(CheckpointTest, OtherProcessesAreNotReached) {
  CUprocessState state = CU_PROCESS_STATE_RUNNING;
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuCheckpointProcessGetState(getppid(), &state));
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuCheckpointProcessLock(getppid(), nullptr));
  for (const int nobody : {0, -1, 0x7ffffff0}) {
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuCheckpointProcessGetState(nobody, &state));
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuCheckpointProcessLock(nobody, nullptr));
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuCheckpointProcessCheckpoint(nobody, nullptr));
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuCheckpointProcessRestore(nobody, nullptr));
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuCheckpointProcessUnlock(nobody, nullptr));
  }
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuCheckpointProcessGetState(getpid(), nullptr));
  int thread = 0;
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuCheckpointProcessGetRestoreThreadId(getpid(), &thread));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuCheckpointProcessGetRestoreThreadId(getpid(), nullptr));
}

TEST_F(CheckpointTest, CallsWaitUntilItIsUnlocked) {
  CHECK_CU(cuCheckpointProcessLock(getpid(), nullptr));
  std::atomic<bool> begun{false};
  std::atomic<bool> returned{false};
  CUdeviceptr block = 0;
  std::thread caller([&] {
    begun = true;
    cuCtxSetCurrent(nullptr);
    returned = true;
  });
  // Calls that need no state of the driver are not blocked, nor are the calls for the process
  // state.
  int version = 0;
  CHECK_CU(cuDriverGetVersion(&version));
  while (!begun) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  EXPECT_FALSE(returned);
  CHECK_CU(cuCheckpointProcessUnlock(getpid(), nullptr));
  caller.join();
  EXPECT_TRUE(returned);
  CHECK_CU(cuMemAlloc(&block, 100));
  CHECK_CU(cuMemFree(block));
}

TEST_F(CheckpointTest, LockWaitsForWorkUpToItsTimeout) {
  std::atomic<bool> go{false};
  CUstream stream = nullptr;
  CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK_CU(cuLaunchHostFunc(
      stream,
      [](void* flag) {
        while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
      },
      &go));
  CUcheckpointLockArgs arguments = {};
  arguments.timeoutMs = 5;
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuCheckpointProcessLock(getpid(), &arguments));
  EXPECT_EQ(State(), CU_PROCESS_STATE_RUNNING);
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));  // calls are not blocked any more
  std::thread later([&] { go = true; });
  CHECK_CU(cuCheckpointProcessLock(getpid(), nullptr));
  later.join();
  CHECK_CU(cuCheckpointProcessUnlock(getpid(), nullptr));
  CHECK_CU(cuStreamQuery(stream));
}

TEST_F(CheckpointTest, CheckpointedMemoryIsOthersToTake) {
  CUdeviceptr block = 0;
  CHECK_CU(cuMemAlloc(&block, 100 * kMiB));
  CHECK_CU(cuMemsetD8(block, 77, 100 * kMiB));
  Peer peer(kSpec);
  const unsigned long long before = peer.AskNumber("info");
  EXPECT_EQ(before, (256 - 16 - 16 - 100) * kMiB);
  CHECK_CU(cuCheckpointProcessLock(getpid(), nullptr));
  CHECK_CU(cuCheckpointProcessCheckpoint(getpid(), nullptr));
  EXPECT_EQ(peer.AskNumber("info"), (256 - 16) * kMiB);
  ASSERT_EQ(peer.Ask("alloc 209715200"), "0");
  // There is no memory for the restore until the other process frees its own.
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuCheckpointProcessRestore(getpid(), nullptr));
  EXPECT_EQ(State(), CU_PROCESS_STATE_CHECKPOINTED);
  EXPECT_EQ(peer.Ask("free"), "0");
  CHECK_CU(cuCheckpointProcessRestore(getpid(), nullptr));
  CHECK_CU(cuCheckpointProcessUnlock(getpid(), nullptr));
  EXPECT_EQ(peer.AskNumber("info"), before);
  unsigned char byte = 0;
  CHECK_CU(cuMemcpyDtoH(&byte, block + 100 * kMiB - 1, 1));
  EXPECT_EQ(byte, 77);
  CHECK_CU(cuMemFree(block));
  EXPECT_EQ(peer.End(), 0);
}

TEST_F(CheckpointTest, DevicesStayThemselves) {
  CUcheckpointGpuPair pairs[2] = {};
  for (int device = 0; device < 2; ++device) {
    CHECK_CU(cuDeviceGetUuid(&pairs[device].oldUuid, device));
    pairs[device].newUuid = pairs[device].oldUuid;
  }
  CHECK_CU(cuCheckpointProcessLock(getpid(), nullptr));
  CHECK_CU(cuCheckpointProcessCheckpoint(getpid(), nullptr));
  CUcheckpointRestoreArgs arguments = {};
  arguments.gpuPairs = pairs;
  arguments.gpuPairsCount = 1;  // one is missing
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuCheckpointProcessRestore(getpid(), &arguments));
  arguments.gpuPairsCount = 2;
  std::swap(pairs[0].newUuid, pairs[1].newUuid);
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuCheckpointProcessRestore(getpid(), &arguments));
  std::memset(&pairs[0].oldUuid, 1, sizeof(CUuuid));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuCheckpointProcessRestore(getpid(), &arguments));
  // Each device is restored to itself.
  for (int device = 0; device < 2; ++device) pairs[device].oldUuid = pairs[device].newUuid;
  CHECK_CU(cuCheckpointProcessRestore(getpid(), &arguments));
  CHECK_CU(cuCheckpointProcessUnlock(getpid(), nullptr));
}

}  // namespace
}  // namespace memprof::simcuda
