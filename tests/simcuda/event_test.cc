// Events: flags, states, times, handles.
#include <atomic>
#include <vector>

#include "tests/simcuda/event_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0,devices=2");

TEST_F(EventTest, FlagsThatGoTogether) {
  constexpr unsigned kBlock = CU_EVENT_BLOCKING_SYNC;
  constexpr unsigned kUntimed = CU_EVENT_DISABLE_TIMING;
  constexpr unsigned kShared = CU_EVENT_INTERPROCESS;
  const struct {
    unsigned flags;
    CUresult result;
  } rows[] = {{0, CUDA_SUCCESS},
              {kBlock, CUDA_SUCCESS},
              {kUntimed, CUDA_SUCCESS},
              {kBlock | kUntimed, CUDA_SUCCESS},
              {kShared | kUntimed, CUDA_SUCCESS},
              {kShared | kUntimed | kBlock, CUDA_SUCCESS},
              // Events shared between processes cannot have timing.
              {kShared, CUDA_ERROR_INVALID_VALUE},
              {kShared | kBlock, CUDA_ERROR_INVALID_VALUE},
              {8, CUDA_ERROR_INVALID_VALUE},
              {0x80000000u, CUDA_ERROR_INVALID_VALUE}};
  for (const auto& row : rows) {
    CUevent event = nullptr;
    EXPECT_EQ(cuEventCreate(&event, row.flags), row.result) << row.flags;
    EXPECT_EQ(event != nullptr, row.result == CUDA_SUCCESS) << row.flags;
    if (event != nullptr) {
      EXPECT_EQ(CUDA_SUCCESS, cuEventDestroy(event));
      EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventDestroy(event));
    }
  }
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuEventCreate(nullptr, 0));
}

TEST_F(EventTest, DeadHandlesAreRefusedEverywhere) {
  const CUevent good = Make();
  const CUevent dead = Make();
  CHECK_CU(cuEventDestroy(dead));
  float time = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(dead, stream_));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(nullptr, stream_));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(dead));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventSynchronize(dead));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamWaitEvent(stream_, dead, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&time, dead, good));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&time, good, dead));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuEventElapsedTime(nullptr, good, good));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuEventRecordWithFlags(good, stream_, 2));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuStreamWaitEvent(stream_, good, 2));
  CHECK_CU(cuEventRecordWithFlags(good, stream_, CU_EVENT_RECORD_DEFAULT));
  CHECK_CU(cuEventSynchronize(good));
}

TEST_F(EventTest, AnEventKeepsToItsContext) {
  const CUevent event = Make();
  CUcontext second = nullptr;
  CHECK_CU(cuDevicePrimaryCtxRetain(&second, 1));
  CHECK_CU(cuCtxPushCurrent(second));
  CUstream there = nullptr;
  CHECK_CU(cuStreamCreate(&there, 0));
  // An event is recorded only in its own context, but can be waited for in any.
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, there));
  Gate gate(stream_);
  CHECK_CU(cuEventRecord(event, stream_));
  CHECK_CU(cuStreamWaitEvent(there, event, 0));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(there));
  gate.Open();
  CHECK_CU(cuStreamSynchronize(there));
  EXPECT_EQ(CUDA_SUCCESS, cuEventQuery(event));
  CHECK_CU(cuCtxPopCurrent(nullptr));
  CHECK_CU(cuDevicePrimaryCtxRelease(1));
  // Resetting the context destroys the event.
  CHECK_CU(cuDevicePrimaryCtxReset(0));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(event));
}

TEST_F(EventTest, TimesNeedTwoReachedAndTimedEvents) {
  const CUevent start = Make();
  const CUevent end = Make();
  const CUevent untimed = Make(CU_EVENT_DISABLE_TIMING);
  float time = -1;
  // An event that was never recorded.
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&time, start, end));
  CHECK_CU(cuEventRecord(start, stream_));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&time, start, end));
  {
    Gate gate(stream_);
    CHECK_CU(cuEventRecord(end, stream_));
    CHECK_CU(cuEventRecord(untimed, stream_));
    EXPECT_EQ(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&time, start, end));
    EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&time, start, untimed));
    EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&time, untimed, end));
    EXPECT_EQ(time, -1);
  }
  CHECK_CU(cuEventElapsedTime(&time, start, end));
  EXPECT_GE(time, 0);
  float back = 0;
  CHECK_CU(cuEventElapsedTime(&back, end, start));
  EXPECT_EQ(back, -time);
  CHECK_CU(cuEventElapsedTime(&back, start, start));
  EXPECT_EQ(back, 0);
#if CUDA_VERSION >= 12080
  CHECK_CU(cuEventElapsedTime_v2(&back, start, end));
  EXPECT_EQ(back, time);
#endif
}

TEST_F(EventTest, TimesInOneStreamNeverRunBackwards) {
  std::vector<CUevent> events(50);
  for (CUevent& event : events) {
    event = Make();
    CHECK_CU(cuLaunchHostFunc(
        stream_, [](void*) {}, nullptr));
    CHECK_CU(cuEventRecord(event, stream_));
  }
  CHECK_CU(cuStreamSynchronize(stream_));
  float sum = 0;
  for (size_t i = 1; i < events.size(); ++i) {
    float time = -1;
    CHECK_CU(cuEventElapsedTime(&time, events[i - 1], events[i]));
    EXPECT_GE(time, 0) << i;
    sum += time;
  }
  float all = 0;
  CHECK_CU(cuEventElapsedTime(&all, events.front(), events.back()));
  EXPECT_NEAR(sum, all, 1e-3F + all * 1e-3F);
}

TEST_F(EventTest, TheLatestRecordingCounts) {
  const CUevent event = Make();
  CHECK_CU(cuEventRecord(event, stream_));
  CHECK_CU(cuEventSynchronize(event));
  EXPECT_EQ(CUDA_SUCCESS, cuEventQuery(event));
  Gate gate(stream_);
  CHECK_CU(cuEventRecord(event, stream_));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuEventQuery(event));
  // A wait for the earlier recording does not wait for the later one, and vice versa.
  CHECK_CU(cuStreamWaitEvent(other_, event, 0));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(other_));
  CUstream third = nullptr;
  CHECK_CU(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
  CHECK_CU(cuEventRecord(event, third));
  EXPECT_EQ(CUDA_SUCCESS, cuEventQuery(event));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(other_));
}

TEST_F(EventTest, AnEventThatWasNeverRecordedHoldsNothing) {
  const CUevent event = Make();
  CHECK_CU(cuEventSynchronize(event));
  EXPECT_EQ(CUDA_SUCCESS, cuEventQuery(event));
  CHECK_CU(cuStreamWaitEvent(stream_, event, 0));
  EXPECT_EQ(CUDA_SUCCESS, cuStreamQuery(stream_));
}

TEST_F(EventTest, DestroyedWhileRecordedItStillOrders) {
  const CUevent event = Make();
  std::atomic<int> order{0};
  struct Note {
    std::atomic<int>* order;
    int at;
  } notes[] = {{&order, 0}, {&order, 0}};
  const CUhostFn write = [](void* data) {
    auto* note = static_cast<Note*>(data);
    note->at = ++*note->order;
  };
  Gate gate(stream_);
  CHECK_CU(cuLaunchHostFunc(stream_, write, &notes[0]));
  CHECK_CU(cuEventRecord(event, stream_));
  CHECK_CU(cuStreamWaitEvent(other_, event, 0));
  CHECK_CU(cuEventDestroy(event));
  CHECK_CU(cuLaunchHostFunc(other_, write, &notes[1]));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(other_));
  gate.Open();
  CHECK_CU(cuStreamSynchronize(other_));
  EXPECT_EQ(notes[0].at, 1);
  EXPECT_EQ(notes[1].at, 2);
}

}  // namespace
}  // namespace memprof::simcuda
