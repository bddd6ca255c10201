// The order that events and streams guarantee, across streams and threads.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "tests/simcuda/event_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0,devices=2");

// Random work, recordings and waits on several streams. Each piece of work starts only after
// everything that must come before it according to a simple model.
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
  // For each stream and each event, the pieces of work that come before it.
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

// The running piece of work counts too, not only queued work.
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
  // Ids of all streams are distinct, including streams of other contexts and the default streams.
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
