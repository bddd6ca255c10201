// The states of stream capture, and what it refuses.
#include <thread>

#include "tests/simcuda/capture_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0");

TEST_F(CaptureTest, BeginAndEndAreAPair) {
  CUgraph graph = nullptr;
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(streams_[0], &graph));
  for (const int mode : {-1, 3, 99}) {
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
              cuStreamBeginCapture(streams_[0], static_cast<CUstreamCaptureMode>(mode)));
  }
  for (const CUstream legacy : {static_cast<CUstream>(nullptr), CU_STREAM_LEGACY}) {
    EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, Begin(legacy));
  }
  for (const CUstreamCaptureMode mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        CU_STREAM_CAPTURE_MODE_RELAXED}) {
    for (const CUstream stream : {streams_[0], CU_STREAM_PER_THREAD}) {
      EXPECT_FALSE(Capturing(stream));
      CHECK_CU(cuStreamBeginCapture(stream, mode));
      EXPECT_TRUE(Capturing(stream));
      EXPECT_EQ(CUDA_ERROR_ILLEGAL_STATE, cuStreamBeginCapture(stream, mode));
      EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuStreamEndCapture(stream, nullptr));
      EXPECT_TRUE(Capturing(stream));
      End(stream, 0);
      EXPECT_FALSE(Capturing(stream));
    }
  }
}

TEST_F(CaptureTest, EveryCaptureHasItsOwnNumber) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  cuuint64_t ids[3] = {7, 7, 7};
  CHECK_CU(
      cuStreamGetCaptureInfo(streams_[0], &status, &ids[0], nullptr, nullptr, nullptr, nullptr));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(ids[0], 7u);
  for (int i = 0; i < 3; ++i) {
    CHECK_CU(Begin(streams_[i]));
    CUgraph graph = nullptr;
    CHECK_CU(
        cuStreamGetCaptureInfo(streams_[i], &status, &ids[i], &graph, nullptr, nullptr, nullptr));
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    EXPECT_NE(graph, nullptr);
  }
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_NE(ids[1], ids[2]);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuStreamGetCaptureInfo(streams_[0], nullptr, &ids[0], nullptr,
                                                             nullptr, nullptr, nullptr));
  for (const CUstream stream : streams_) End(stream, 0);
}

TEST_F(CaptureTest, CallsThatACapturingStreamRefuses) {
  CHECK_CU(Begin(streams_[0]));
  CHECK_CU(Fill(streams_[0]));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(streams_[0]));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(streams_[0]));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            cuStreamAddCallback(
                streams_[0], [](CUstream, CUresult, void*) {}, nullptr, 0));
  // An event recorded in a capture cannot be queried or waited for by the host.
  CHECK_CU(cuEventRecord(event_, streams_[0]));
  EXPECT_EQ(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(event_));
  EXPECT_EQ(CUDA_ERROR_CAPTURED_EVENT, cuEventSynchronize(event_));
  // Other streams are not affected.
  CHECK_CU(Fill(streams_[1], 5));
  CHECK_CU(cuStreamSynchronize(streams_[1]));
  EXPECT_EQ(First(), 5u);
  CHECK_CU(cuStreamQuery(streams_[1]));
  End(streams_[0], 1);
  CHECK_CU(cuStreamQuery(streams_[0]));
  EXPECT_EQ(First(), 5u);
}

TEST_F(CaptureTest, NothingIsWaitedForAcrossTheBorder) {
  CUevent never = nullptr;
  CHECK_CU(cuEventCreate(&never, 0));
  CHECK_CU(cuEventRecord(event_, streams_[1]));
  CHECK_CU(Begin(streams_[0]));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(streams_[0], event_, 0));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(streams_[0], never, 0));
  EXPECT_TRUE(Capturing(streams_[0]));
  EXPECT_FALSE(Capturing(streams_[1]));
  End(streams_[0], 0);
}

TEST_F(CaptureTest, CapturesDoNotMerge) {
  CHECK_CU(Begin(streams_[0]));
  CHECK_CU(Begin(streams_[1]));
  CHECK_CU(cuEventRecord(event_, streams_[0]));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_MERGE, cuStreamWaitEvent(streams_[1], event_, 0));
  CHECK_CU(Fill(streams_[1]));
  // A stream that is not capturing joins the capture; its own capture cannot be begun or ended.
  CHECK_CU(cuStreamWaitEvent(streams_[2], event_, 0));
  EXPECT_TRUE(Capturing(streams_[2]));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_STATE, Begin(streams_[2]));
  CUgraph graph = nullptr;
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(streams_[2], &graph));
  CHECK_CU(Fill(streams_[2]));
  CHECK_CU(cuEventRecord(event_, streams_[2]));
  CHECK_CU(cuStreamWaitEvent(streams_[0], event_, 0));
  End(streams_[0], 1);
  EXPECT_FALSE(Capturing(streams_[2]));
  EXPECT_TRUE(Capturing(streams_[1]));
  End(streams_[1], 1);
}

TEST_F(CaptureTest, TheEventsOfAnEndedCaptureCaptureNoOtherStream) {
  CHECK_CU(Begin(streams_[0]));
  CHECK_CU(cuEventRecord(event_, streams_[0]));
  End(streams_[0], 0);
  EXPECT_EQ(CUDA_ERROR_CAPTURED_EVENT, cuStreamWaitEvent(streams_[1], event_, 0));
  EXPECT_FALSE(Capturing(streams_[1]));
  // Work enqueued now runs immediately, because the stream is not capturing.
  CHECK_CU(Fill(streams_[1], 9));
  CHECK_CU(cuStreamSynchronize(streams_[1]));
  EXPECT_EQ(First(), 9u);
  // After a new recording outside of a capture, it is an ordinary event.
  CHECK_CU(cuEventRecord(event_, streams_[0]));
  CHECK_CU(cuStreamWaitEvent(streams_[1], event_, 0));
  CHECK_CU(cuEventSynchronize(event_));
}

TEST_F(CaptureTest, EachThreadHasItsMode) {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  CHECK_CU(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  std::thread([] {
    CUstreamCaptureMode other = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    EXPECT_EQ(CUDA_SUCCESS, cuThreadExchangeStreamCaptureMode(&other));
    EXPECT_EQ(other, CU_STREAM_CAPTURE_MODE_GLOBAL);
  }).join();
  CHECK_CU(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuThreadExchangeStreamCaptureMode(nullptr));
}

}  // namespace
}  // namespace memprof::simcuda
