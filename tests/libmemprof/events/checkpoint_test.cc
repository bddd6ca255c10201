// Checkpoints of a process, and which driver calls are avoided during them.
#include <unistd.h>

#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {
namespace {

using ::testing::ElementsAre;
using testing::Event;

using LedgerHooks = HooksTest;

TEST_F(LedgerHooks, CheckpointsAreMarked) {
  Start();
  void* const none = nullptr;
  for (const char* name : {"cuCheckpointProcessLock", "cuCheckpointProcessCheckpoint",
                           "cuCheckpointProcessRestore", "cuCheckpointProcessUnlock"})
    EXPECT_EQ(Call(name, getpid(), none), CUDA_SUCCESS);
  Answer(CUDA_ERROR_ILLEGAL_STATE);
  Call("cuCheckpointProcessLock", getpid(), none);
  std::vector<std::uint64_t> stages;
  for (const Event& event : Finish().WithOp(log::OP_CHECKPOINT)) {
    stages.push_back(event.aux0);
    EXPECT_EQ(event.aux1, static_cast<std::uint64_t>(getpid()));
  }
  EXPECT_THAT(stages, ElementsAre(1, 2, 3, 4));
}

// Driver calls of a locked process block until it is unlocked. If a step made such a call in the
// thread that must unlock, it would wait forever.
TEST_F(LedgerHooks, WhileLockedNothingIsAskedOfTheDriver) {
  void* const none = nullptr;
  const auto samples = [this] { return Events().size(); };
  Start();
  Call("cuCheckpointProcessLock", getpid() + 1, none);
  EXPECT_EQ(memprof_step(1), MEMPROF_OK);
  const std::size_t before = samples();
  EXPECT_EQ(before, 3u) << "another process's lock, a sample, the step";
  Call("cuCheckpointProcessLock", getpid(), none);
  Answer(CUDA_ERROR_ILLEGAL_STATE);
  Call("cuCheckpointProcessLock", getpid(), none);
  Call("cuCheckpointProcessUnlock", getpid(), none);
  EXPECT_EQ(memprof_step(2), MEMPROF_OK);
  EXPECT_EQ(samples(), before + 2) << "the lock and the step";
  Answer(CUDA_SUCCESS);
  Call("cuCheckpointProcessUnlock", getpid(), none);
  EXPECT_EQ(memprof_step(3), MEMPROF_OK);
  EXPECT_EQ(samples(), before + 5) << "the unlock, a sample, the step";
}

}  // namespace
}  // namespace memprof::recorder
