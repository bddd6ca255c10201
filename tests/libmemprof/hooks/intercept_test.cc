// What a wrapper does around the real call: nested calls, exceptions, calls before a recording.
#include <pthread.h>

#include <csetjmp>
#include <stdexcept>

#include "libmemprof/src/recording/entry_guard.h"
#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {
namespace {

using testing::DriverCall;
using ::testing::ElementsAre;
using testing::Event;

using Hooks = HooksTest;

// The driver implements some of its functions by calling other exported functions.
TEST_F(Hooks, OnlyTheOutermostCallIsRecorded) {
  if (!ByHooks()) GTEST_SKIP() << "a matter of hooks";
  Start();
  driver_.decide = [](const DriverCall& call) {
    CUdeviceptr inner = 0;
    return call.name == "cuMemAllocManaged" ? Call("cuMemAlloc_v2", &inner, std::size_t{5})
                                            : CUDA_SUCCESS;
  };
  CUdeviceptr pointer = 0;
  EXPECT_EQ(Call("cuMemAllocManaged", &pointer, std::size_t{7}, 1u), CUDA_SUCCESS);
  EXPECT_EQ(driver_.calls.size(), 2u);
  const std::vector<Event> allocations = Finish().WithOp(log::OP_ALLOC);
  ASSERT_EQ(allocations.size(), 1u);
  EXPECT_EQ(allocations[0].layer, log::LAYER_MANAGED);
}

// A call that is left by an exception or by longjmp seems to continue. Later calls count as nested
// in it, unless the next call detects that this is impossible.
__attribute__((noinline)) void AllocateDeepDown(std::size_t bytes, int levels) {
  volatile char frame[512];
  std::memset(const_cast<char*>(frame), levels, sizeof frame);
  if (levels > 0) return AllocateDeepDown(bytes, levels - 1);
  CUdeviceptr pointer = 0;
  reinterpret_cast<CUresult (*)(CUdeviceptr*, std::size_t)>(
      WrapperFunction(FunctionId::k_cuMemAlloc_v2))(&pointer, bytes);
}

TEST_F(HooksTest, AnExceptionThroughACallDoesNotSilenceItsThread) {
  Start();
  std::size_t next = 1;
  for (const int thrown_at : {0, 3, 20}) {
    for (const int then_at : {0, 3, 20}) {
      driver_.decide = [](const DriverCall&) -> CUresult { throw std::runtime_error("driver"); };
      EXPECT_THROW(AllocateDeepDown(1000, thrown_at), std::runtime_error);
      Answer(CUDA_SUCCESS);
      AllocateDeepDown(next++, then_at);
    }
  }
  std::vector<std::uint64_t> bytes;
  for (const Event& event : Events())
    if (event.op == log::OP_ALLOC) bytes.push_back(event.bytes);
  EXPECT_THAT(bytes, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
}

__attribute__((noinline)) void JumpOutOfWork(std::jmp_buf* back) {
  const WorkGuard guard;
  std::longjmp(*back, 1);
}

// As a signal's handler may.
TEST_F(HooksTest, AJumpOutOfTheRecordersWorkLeavesTheThreadAsItWas) {
  Start();
  AllocateDeepDown(1, 0);
  std::jmp_buf back;
  if (setjmp(back) == 0) JumpOutOfWork(&back);
  AllocateDeepDown(2, 0);
  int state = PTHREAD_CANCEL_DISABLE;
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
  EXPECT_EQ(state, PTHREAD_CANCEL_ENABLE) << "it can be cancelled";
  std::vector<std::uint64_t> bytes;
  for (const Event& event : Events())
    if (event.op == log::OP_ALLOC) bytes.push_back(event.bytes);
  EXPECT_THAT(bytes, ElementsAre(1, 2));
}

// No recorder exists yet.
TEST_F(HooksTest, CallsBeforeARecordingArePassedOn) {
  Call("cuMemRelease", CUmemGenericAllocationHandle{5});
  Call("cuMemUnmap", CUdeviceptr{0x1000}, std::size_t{64});
  CUcontext context = nullptr;
  Call("cuCtxFromGreenCtx", &context, static_cast<void*>(nullptr));
  EXPECT_EQ(driver_.calls.size(), 3u);
}

}  // namespace
}  // namespace memprof::recorder
