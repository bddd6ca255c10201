// Host functions and callbacks in streams.
#include <atomic>
#include <thread>
#include <vector>

#include "tests/simcuda/event_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0,devices=2");

TEST_F(EventTest, HostFunctionsMustNotWait) {
  struct Inside {
    CUcontext context;
    CUstream stream;
    CUstream other;
    CUevent event;
    CUresult results[6];
  } inside = {context_, stream_, other_, Make(), {}};
  CHECK_CU(cuEventRecord(inside.event, stream_));
  CHECK_CU(cuLaunchHostFunc(
      stream_,
      [](void* data) {
        auto* one = static_cast<Inside*>(data);
        CUdeviceptr address = 0;
        one->results[0] = cuMemAlloc(&address, 16);
        one->results[1] = cuStreamSynchronize(one->stream);
        one->results[2] = cuStreamSynchronize(one->other);
        one->results[3] = cuEventSynchronize(one->event);
        cuCtxSetCurrent(one->context);
        one->results[4] = cuCtxSynchronize();
        one->results[5] = cuStreamSynchronize(nullptr);
        cuCtxSetCurrent(nullptr);
      },
      &inside));
  CHECK_CU(cuStreamSynchronize(stream_));
  const CUresult expected[] = {CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_NOT_PERMITTED,
                               CUDA_ERROR_NOT_PERMITTED,   CUDA_ERROR_NOT_PERMITTED,
                               CUDA_ERROR_NOT_PERMITTED,   CUDA_ERROR_NOT_PERMITTED};
  for (size_t i = 0; i < std::size(expected); ++i) EXPECT_EQ(inside.results[i], expected[i]) << i;
}

TEST_F(EventTest, CallbacksKnowTheirStreamAndRunInOrder) {
  struct Seen {
    std::vector<std::pair<CUstream, CUresult>> calls;
  } seen;
  const CUstreamCallback note = [](CUstream stream, CUresult status, void* data) {
    static_cast<Seen*>(data)->calls.emplace_back(stream, status);
  };
  CHECK_CU(cuStreamAddCallback(stream_, note, &seen, 0));
  CHECK_CU(cuLaunchHostFunc(
      stream_,
      [](void* data) { static_cast<Seen*>(data)->calls.emplace_back(nullptr, CUDA_SUCCESS); },
      &seen));
  CHECK_CU(cuStreamAddCallback(stream_, note, &seen, 0));
  CHECK_CU(cuStreamSynchronize(stream_));
  ASSERT_EQ(seen.calls.size(), 3u);
  EXPECT_EQ(seen.calls[0], std::make_pair(stream_, CUDA_SUCCESS));
  EXPECT_EQ(seen.calls[1].first, nullptr);
  EXPECT_EQ(seen.calls[2].first, stream_);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuStreamAddCallback(stream_, nullptr, &seen, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuStreamAddCallback(stream_, note, &seen, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuLaunchHostFunc(stream_, nullptr, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE,
            cuStreamAddCallback(reinterpret_cast<CUstream>(&seen), note, &seen, 0));
}

TEST_F(EventTest, HostFunctionsMayEnqueueMore) {
  struct Chain {
    CUstream stream;
    CUhostFn step;
    std::atomic<int> left;
  };
  Chain chain = {stream_, nullptr, {20}};
  chain.step = [](void* data) {
    auto* one = static_cast<Chain*>(data);
    if (--one->left > 0) {
      EXPECT_EQ(CUDA_SUCCESS, cuLaunchHostFunc(one->stream, one->step, one));
    }
  };
  CHECK_CU(cuLaunchHostFunc(stream_, chain.step, &chain));
  while (chain.left > 0) std::this_thread::yield();
  CHECK_CU(cuStreamSynchronize(stream_));
  EXPECT_EQ(chain.left, 0);
}

}  // namespace
}  // namespace memprof::simcuda
