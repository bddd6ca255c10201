// Events: flags, states, times, order across streams and threads; host functions and callbacks.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

const Configure kConfigure("memory=1GiB,overhead=0,devices=2");

// Holds a stream up until it is opened, or goes away.
class Gate {
 public:
  explicit Gate(CUstream stream) : stream_(stream) {
    EXPECT_EQ(CUDA_SUCCESS, cuLaunchHostFunc(stream, &Gate::Wait, this));
  }
  ~Gate() {
    Open();
    cuStreamSynchronize(stream_);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void Open() { open_ = true; }

 private:
  static void Wait(void* gate) {
    while (!static_cast<Gate*>(gate)->open_) std::this_thread::yield();
  }
  CUstream stream_;
  std::atomic<bool> open_{false};
};

class EventTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CHECK_CU(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    CHECK_CU(cuStreamCreate(&other_, CU_STREAM_NON_BLOCKING));
  }
  static CUevent Make(unsigned flags = CU_EVENT_DEFAULT) {
    CUevent event = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuEventCreate(&event, flags));
    return event;
  }
  CUstream stream_ = nullptr;
  CUstream other_ = nullptr;
};

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
              // Times are not kept across processes.
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
  // Recorded in its own context only, waited for in any.
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
  // The context's end is the event's end.
  CHECK_CU(cuDevicePrimaryCtxReset(0));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(event));
}

TEST_F(EventTest, TimesNeedTwoReachedAndTimedEvents) {
  const CUevent start = Make();
  const CUevent end = Make();
  const CUevent untimed = Make(CU_EVENT_DISABLE_TIMING);
  float time = -1;
  // Never recorded.
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
  // What waited for the earlier recording is not held by the later one, and the other way round.
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

// Random work, recordings and waits over several streams: each piece of work starts only after
// everything that a plain model says is before it.
TEST_F(EventTest, RandomDependenciesAreKept) {
  constexpr size_t kStreams = 4;
  constexpr size_t kEvents = 6;
  constexpr int kPieces = 300;
  struct Piece {
    std::atomic<int>* clock;
    std::atomic<int> at{0};
  };
  std::mt19937 random(7);
  std::atomic<int> clock{0};
  std::vector<Piece> pieces(kPieces);
  for (Piece& piece : pieces) piece.clock = &clock;
  CUstream streams[kStreams] = {};
  for (CUstream& stream : streams) CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  std::vector<CUevent> events(kEvents);
  for (CUevent& event : events) event = Make(random() % 2 == 0 ? 0 : CU_EVENT_DISABLE_TIMING);
  // For each stream and each event, the pieces that are before it.
  std::vector<std::vector<bool>> stream_knows(kStreams, std::vector<bool>(kPieces));
  std::vector<std::vector<bool>> event_knows(kEvents, std::vector<bool>(kPieces));
  std::vector<std::vector<bool>> before(kPieces);
  for (int next = 0; next < kPieces;) {
    const size_t stream = random() % kStreams;
    const size_t event = random() % kEvents;
    switch (random() % 4) {
      case 0:
        CHECK_CU(cuEventRecord(events[event], streams[stream]));
        event_knows[event] = stream_knows[stream];
        break;
      case 1:
        CHECK_CU(cuStreamWaitEvent(streams[stream], events[event], 0));
        for (int i = 0; i < kPieces; ++i) {
          if (event_knows[event][static_cast<size_t>(i)]) {
            stream_knows[stream][static_cast<size_t>(i)] = true;
          }
        }
        break;
      default:
        before[static_cast<size_t>(next)] = stream_knows[stream];
        stream_knows[stream][static_cast<size_t>(next)] = true;
        CHECK_CU(cuLaunchHostFunc(
            streams[stream],
            [](void* data) {
              auto* piece = static_cast<Piece*>(data);
              piece->at = ++*piece->clock;
            },
            &pieces[static_cast<size_t>(next)]));
        ++next;
    }
  }
  CHECK_CU(cuCtxSynchronize());
  EXPECT_EQ(clock, kPieces);
  for (size_t later = 0; later < pieces.size(); ++later) {
    for (size_t earlier = 0; earlier < pieces.size(); ++earlier) {
      if (before[later][earlier]) {
        EXPECT_LT(pieces[earlier].at, pieces[later].at) << earlier << " before " << later;
      }
    }
  }
}

// The one piece of work that is under way counts, not only what is behind it.
TEST_F(EventTest, TheLegacyStreamWaitsForASinglePiece) {
  CUstream blocking = nullptr;
  CHECK_CU(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  CUdeviceptr block = 0;
  CHECK_CU(cuMemAlloc(&block, 4));
  CHECK_CU(cuMemsetD32(block, 0, 1));
  CHECK_CU(cuLaunchHostFunc(
      blocking,
      [](void* value) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        *static_cast<unsigned*>(value) = 77;
      },
      reinterpret_cast<void*>(block)));
  unsigned read = 0;
  CHECK_CU(cuMemcpyDtoH(&read, block, 4));
  EXPECT_EQ(read, 77u);
  CHECK_CU(cuMemFree(block));
}

TEST_F(EventTest, ManyThreadsWaitForOneEvent) {
  const CUevent event = Make(CU_EVENT_BLOCKING_SYNC);
  Gate gate(stream_);
  std::atomic<bool> done{false};
  CHECK_CU(cuLaunchHostFunc(
      stream_, [](void* data) { *static_cast<std::atomic<bool>*>(data) = true; }, &done));
  CHECK_CU(cuEventRecord(event, stream_));
  std::atomic<int> saw{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      EXPECT_EQ(CUDA_SUCCESS, cuEventSynchronize(event));
      saw += done ? 1 : 0;
    });
  }
  gate.Open();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(saw, 6);
}

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

TEST_F(EventTest, StreamFlagsAndPriorities) {
  int least = 9;
  int greatest = 9;
  CHECK_CU(cuCtxGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_LT(greatest, least);
  CHECK_CU(cuCtxGetStreamPriorityRange(nullptr, nullptr));
  for (int asked = greatest - 3; asked <= least + 3; ++asked) {
    CUstream stream = nullptr;
    CHECK_CU(cuStreamCreateWithPriority(&stream, CU_STREAM_DEFAULT, asked));
    int got = 99;
    CHECK_CU(cuStreamGetPriority(stream, &got));
    EXPECT_EQ(got, std::clamp(asked, greatest, least)) << asked;
    unsigned flags = 99;
    CHECK_CU(cuStreamGetFlags(stream, &flags));
    EXPECT_EQ(flags, unsigned{CU_STREAM_DEFAULT});
    CHECK_CU(cuStreamDestroy(stream));
  }
  CUstream none = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(&none, 2));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(nullptr, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(CU_STREAM_LEGACY));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(CU_STREAM_PER_THREAD));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(nullptr));
}

TEST_F(EventTest, QueriesOfStreamsCheckTheirArguments) {
  int priority = 0;
  unsigned flags = 0;
  CUcontext context = nullptr;
  const auto bogus = reinterpret_cast<CUstream>(&priority);
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamGetPriority(bogus, &priority));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamGetFlags(bogus, &flags));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamGetCtx(bogus, &context));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(bogus));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(Make(), bogus));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamWaitEvent(bogus, Make(), 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuStreamGetPriority(stream_, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuStreamGetFlags(stream_, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuStreamGetId(stream_, nullptr));
  // Ids tell all streams apart, those of other contexts and the default ones too.
  CUcontext second = nullptr;
  CHECK_CU(cuDevicePrimaryCtxRetain(&second, 1));
  std::vector<unsigned long long> ids;
  for (const CUcontext one : {context_, second}) {
    CHECK_CU(cuCtxPushCurrent(one));
    CUstream made = nullptr;
    CHECK_CU(cuStreamCreate(&made, 0));
    for (const CUstream stream : {CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, made}) {
      CHECK_CU(cuStreamGetId(stream, &ids.emplace_back()));
      CHECK_CU(cuStreamGetCtx(stream, &context));
      EXPECT_EQ(context, one);
    }
    CHECK_CU(cuCtxPopCurrent(nullptr));
  }
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
  CHECK_CU(cuDevicePrimaryCtxRelease(1));
}

}  // namespace
}  // namespace memprof::simcuda
