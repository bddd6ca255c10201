// Order within and between streams, events, host functions.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0");

// Records the order in which host functions ran.
class Journal {
 public:
  struct Note {
    Journal* journal;
    int value;
  };
  void Enqueue(CUstream stream, int value) {
    notes_.push_back(std::make_unique<Note>(Note{this, value}));
    ASSERT_EQ(CUDA_SUCCESS, cuLaunchHostFunc(stream, &Journal::Write, notes_.back().get()));
  }
  std::vector<int> written() {
    const std::lock_guard lock(mutex_);
    return written_;
  }

 private:
  static void Write(void* data) {
    const auto* note = static_cast<Note*>(data);
    const std::lock_guard lock(note->journal->mutex_);
    note->journal->written_.push_back(note->value);
  }
  std::vector<std::unique_ptr<Note>> notes_;
  std::mutex mutex_;
  std::vector<int> written_;
};

// Blocks a stream until it is opened.
class Gate {
 public:
  explicit Gate(CUstream stream) {
    EXPECT_EQ(CUDA_SUCCESS, cuLaunchHostFunc(stream, &Gate::Wait, this));
  }
  void Open() { open_ = true; }

 private:
  static void Wait(void* gate) {
    while (!static_cast<Gate*>(gate)->open_) std::this_thread::yield();
  }
  std::atomic<bool> open_{false};
};

class StreamTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    for (CUstream& stream : streams_) CHECK_CU(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    CHECK_CU(cuStreamCreate(&free_, CU_STREAM_NON_BLOCKING));
  }
  CUstream streams_[2] = {};
  CUstream free_ = nullptr;
};

TEST_F(StreamTest, WorkRunsInOrder) {
  Journal journal;
  std::vector<int> expected;
  for (int i = 0; i < 500; ++i) {
    journal.Enqueue(streams_[0], i);
    expected.push_back(i);
  }
  CHECK_CU(cuStreamSynchronize(streams_[0]));
  EXPECT_EQ(journal.written(), expected);
}

TEST_F(StreamTest, AsynchronousMeansNotYet) {
  Gate gate(free_);
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(free_));
  CUdeviceptr address = 0;
  CHECK_CU(cuMemAlloc(&address, 16));
  CHECK_CU(cuMemsetD32(address, 1, 4));
  CHECK_CU(cuMemsetD32Async(address, 2, 4, free_));
  int values[4] = {};
  // The default stream does not wait for a non-blocking stream.
  CHECK_CU(cuMemcpyDtoH(values, address, 16));
  EXPECT_EQ(values[3], 1);
  gate.Open();
  CHECK_CU(cuStreamSynchronize(free_));
  EXPECT_EQ(CUDA_SUCCESS, cuStreamQuery(free_));
  CHECK_CU(cuMemcpyDtoH(values, address, 16));
  EXPECT_EQ(values[3], 2);
  CHECK_CU(cuMemFree(address));
}

TEST_F(StreamTest, LegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
  Journal journal;
  Gate gate(streams_[0]);
  journal.Enqueue(streams_[0], 1);
  journal.Enqueue(nullptr, 2);
  journal.Enqueue(streams_[1], 3);
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(nullptr));
  EXPECT_EQ(journal.written(), std::vector<int>());
  // A non-blocking stream is not delayed.
  journal.Enqueue(free_, 0);
  CHECK_CU(cuStreamSynchronize(free_));
  EXPECT_EQ(journal.written(), std::vector<int>({0}));
  gate.Open();
  CHECK_CU(cuStreamSynchronize(streams_[1]));
  EXPECT_EQ(journal.written(), std::vector<int>({0, 1, 2, 3}));
}

TEST_F(StreamTest, SynchronisingTheLegacyStreamWaitsForBlockingStreams) {
  Journal journal;
  Gate gate(streams_[0]);
  journal.Enqueue(streams_[0], 1);
  std::thread opener([&] { gate.Open(); });
  CHECK_CU(cuStreamSynchronize(nullptr));
  EXPECT_EQ(journal.written(), std::vector<int>({1}));
  opener.join();
}

TEST_F(StreamTest, EventsOrderStreams) {
  CUstream other = nullptr;
  CHECK_CU(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CUevent event = nullptr;
  CHECK_CU(cuEventCreate(&event, CU_EVENT_DEFAULT));
  EXPECT_EQ(CUDA_SUCCESS, cuEventQuery(event));
  Journal journal;
  Gate gate(free_);
  journal.Enqueue(free_, 1);
  CHECK_CU(cuEventRecord(event, free_));
  CHECK_CU(cuStreamWaitEvent(other, event, 0));
  journal.Enqueue(other, 2);
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuEventQuery(event));
  gate.Open();
  CHECK_CU(cuStreamSynchronize(other));
  EXPECT_EQ(journal.written(), std::vector<int>({1, 2}));
  CHECK_CU(cuEventSynchronize(event));
  CHECK_CU(cuEventDestroy(event));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(event));
}

TEST_F(StreamTest, EventsHaveTimes) {
  CUevent start = nullptr;
  CUevent end = nullptr;
  CHECK_CU(cuEventCreate(&start, 0));
  CHECK_CU(cuEventCreate(&end, 0));
  float milliseconds = -1;
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&milliseconds, start, end));
  const auto begin = std::chrono::steady_clock::now();
  CHECK_CU(cuEventRecord(start, free_));
  CHECK_CU(cuLaunchHostFunc(
      free_, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }, nullptr));
  CHECK_CU(cuEventRecord(end, free_));
  CHECK_CU(cuEventSynchronize(end));
  CHECK_CU(cuEventElapsedTime(&milliseconds, start, end));
  EXPECT_GE(milliseconds, 5.0F);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LE(milliseconds, took.count());
  CUevent untimed = nullptr;
  CHECK_CU(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&milliseconds, start, untimed));
}

TEST_F(StreamTest, PerThreadStreamsAreApart) {
  Journal journal;
  Gate gate(CU_STREAM_PER_THREAD);
  journal.Enqueue(CU_STREAM_PER_THREAD, 1);
  std::thread([&] {
    ASSERT_EQ(CUDA_SUCCESS, cuCtxSetCurrent(context_));
    journal.Enqueue(CU_STREAM_PER_THREAD, 0);
    ASSERT_EQ(CUDA_SUCCESS, cuStreamSynchronize(CU_STREAM_PER_THREAD));
  }).join();
  EXPECT_EQ(journal.written(), std::vector<int>({0}));
  gate.Open();
  CHECK_CU(cuCtxSynchronize());
  EXPECT_EQ(journal.written(), std::vector<int>({0, 1}));
}

TEST_F(StreamTest, DestroyedStreamsFinishTheirWork) {
  Journal journal;
  Gate gate(free_);
  journal.Enqueue(free_, 1);
  CHECK_CU(cuStreamDestroy(free_));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(free_));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(free_));
  gate.Open();
  CHECK_CU(cuCtxSynchronize());
  EXPECT_EQ(journal.written(), std::vector<int>({1}));
}

TEST_F(StreamTest, FreeWaitsForWork) {
  CUdeviceptr address = 0;
  CHECK_CU(cuMemAlloc(&address, 4 * kMiB));
  Gate gate(free_);
  CHECK_CU(cuMemsetD8Async(address, 1, 4 * kMiB, free_));
  std::thread opener([&] { gate.Open(); });
  // If the memory were freed before the fill, the worker would fault.
  CHECK_CU(cuMemFree(address));
  opener.join();
}

TEST_F(StreamTest, HostFunctionsMustNotWait) {
  CUresult result = CUDA_SUCCESS;
  CHECK_CU(cuLaunchHostFunc(
      free_, [](void* data) { *static_cast<CUresult*>(data) = cuStreamSynchronize(nullptr); },
      &result));
  CHECK_CU(cuStreamSynchronize(free_));
  // The call is refused, whether or not the worker has a context.
  EXPECT_NE(result, CUDA_SUCCESS);
}

TEST_F(StreamTest, WorkersLeaveSignalsToTheProgram) {
  sigset_t blocked;
  sigemptyset(&blocked);
  CHECK_CU(cuLaunchHostFunc(
      free_, [](void* set) { pthread_sigmask(SIG_SETMASK, nullptr, static_cast<sigset_t*>(set)); },
      &blocked));
  CHECK_CU(cuStreamSynchronize(free_));
  EXPECT_EQ(sigismember(&blocked, SIGTERM), 1);
  EXPECT_EQ(sigismember(&blocked, SIGPROF), 1);
}

TEST_F(StreamTest, StreamsReportWhatTheyAre) {
  CUstream stream = nullptr;
  CHECK_CU(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -3));
  int priority = 0;
  unsigned flags = 0;
  unsigned long long first = 0;
  unsigned long long second = 0;
  CUcontext context = nullptr;
  CHECK_CU(cuStreamGetPriority(stream, &priority));
  CHECK_CU(cuStreamGetFlags(stream, &flags));
  CHECK_CU(cuStreamGetId(stream, &first));
  CHECK_CU(cuStreamGetId(free_, &second));
  CHECK_CU(cuStreamGetCtx(stream, &context));
  EXPECT_EQ(priority, -3);
  EXPECT_EQ(flags, unsigned{CU_STREAM_NON_BLOCKING});
  EXPECT_NE(first, second);
  EXPECT_EQ(context, context_);
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(reinterpret_cast<CUstream>(&first)));
}

}  // namespace
}  // namespace memprof::simcuda
