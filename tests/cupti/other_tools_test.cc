// The source together with other users of CUPTI, and with many threads.
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/source_api/source_api.h"
#include "simcuda/cupti/newer_cupti.h"
#include "tests/cupti/fake_recorder.h"
#include "tests/cupti/guest_calls.h"
#include "tests/cupti/process.h"
#include "tests/cupti/source_on_standin.h"

namespace memprof::cupti_test {
namespace {

using namespace vocabulary;  // NOLINT: the values of the log

TEST(EndToEnd, AnotherSubscriberIsNamedAndKeepsCupti) {
  WithSource([](const SourceApi* source) {
    NewContext(0);
    static int callbacks = 0;
    CUpti_SubscriberHandle other = nullptr;
    CUpti_SubscriberParams params{};
    params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    params.subscriberName = "kineto";
    ASSERT_EQ(
        cuptiSubscribe_v2(
            &other, [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) { ++callbacks; },
            nullptr, &params),
        CUPTI_SUCCESS);
    ASSERT_EQ(cuptiEnableDomain(1, other, CUPTI_CB_DOMAIN_DRIVER_API), CUPTI_SUCCESS);
    EXPECT_NE(source->start(SourceScope::kEverything), 0);
    const auto states = Recorder().States();
    ASSERT_EQ(states.size(), 1u);
    EXPECT_EQ(states[0].state, kSourceRefused);
    EXPECT_NE(states[0].detail.find("CUPTI for kineto"), std::string::npos) << states[0].detail;
    callbacks = 0;
    CUdeviceptr address = 0;
    ASSERT_CUDA(cuMemAlloc_v2(&address, 4096));
    EXPECT_EQ(callbacks, 2);
    EXPECT_TRUE(Recorder().Events().empty());
    source->stop();
    ASSERT_CUDA(cuMemFree_v2(address));
    EXPECT_EQ(callbacks, 4);
    EXPECT_EQ(cuptiUnsubscribe(other), CUPTI_SUCCESS);
    EXPECT_EQ(source->start(SourceScope::kEverything), 0) << "now it is available";
  });
}

TEST(EndToEnd, IsInTheWayOfOthersOnlyWhileItRuns) {
  WithSource([](const SourceApi* source) {
    NewContext(0);
    const auto callback = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {};
    CUpti_SubscriberHandle other = nullptr;
    ASSERT_EQ(source->start(SourceScope::kUses), 0);
    EXPECT_EQ(cuptiSubscribe(&other, callback, nullptr),
              CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    source->stop();
    EXPECT_EQ(cuptiSubscribe(&other, callback, nullptr), CUPTI_SUCCESS);
  });
}

TEST(EndToEnd, ComesBackAfterAnotherFinalisedCupti) {
  WithSource([](const SourceApi* source) {
    NewContext(0);
    ASSERT_EQ(source->start(SourceScope::kEverything), 0);
    ASSERT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
    CUdeviceptr address = 0;
    ASSERT_CUDA(cuMemAlloc_v2(&address, 4096));
    EXPECT_TRUE(Recorder().Events().empty());
    ASSERT_EQ(source->start(SourceScope::kEverything), 0);
    const auto states = Recorder().States();
    ASSERT_EQ(states.size(), 3u);
    EXPECT_EQ(states[1].state, kSourceLost);
    EXPECT_EQ(states[2].state, kSourceOn);
    ASSERT_CUDA(cuMemFree_v2(address));
    EXPECT_EQ(Recorder().Events(kReportedEntry).size(), 1u);
    // Another tool may have subscribed since: a stop must not end its subscription.
    ASSERT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
    CUpti_SubscriberHandle other = nullptr;
    const auto callback = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {};
    ASSERT_EQ(cuptiSubscribe(&other, callback, nullptr), CUPTI_SUCCESS);
    source->stop();
    EXPECT_EQ(cuptiUnsubscribe(other), CUPTI_SUCCESS);
  });
}

// Eight threads allocate and free at random: every allocation and every byte is reported.
TEST(EndToEnd, ComesBackByItselfAfterAnotherFinalisedCupti) {
  WithSource([](const SourceApi* source) {
    NewContext(0);
    ASSERT_EQ(source->start(SourceScope::kEverything), 0);
    ASSERT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
    CUdeviceptr address = 0;
    ASSERT_CUDA(cuMemAlloc_v2(&address, 4096));
    for (int i = 0; i < 3; ++i) source->check();
    const auto states = Recorder().States();
    ASSERT_EQ(states.size(), 3u);
    EXPECT_EQ(states[1].state, kSourceLost);
    EXPECT_EQ(states[2].state, kSourceOn);
    EXPECT_TRUE(Recorder().Events().empty());
    ASSERT_CUDA(cuMemFree_v2(address));
    EXPECT_EQ(Recorder().Events(kReportedEntry).size(), 1u);
    // Another tool subscribes in the meantime: it keeps its subscription, and the source subscribes
    // again when that tool has ended it.
    ASSERT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
    CUpti_SubscriberHandle other = nullptr;
    const auto callback = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {};
    ASSERT_EQ(cuptiSubscribe(&other, callback, nullptr), CUPTI_SUCCESS);
    for (int i = 0; i < 4; ++i) source->check();
    EXPECT_EQ(Recorder().States().back().state, kSourceLost);
    EXPECT_EQ(cuptiUnsubscribe(other), CUPTI_SUCCESS);
    source->check();
    EXPECT_EQ(Recorder().States().back().state, kSourceOn);
    ASSERT_CUDA(cuMemAlloc_v2(&address, 4096));
    EXPECT_EQ(Recorder().Events(kReportedExit).size(), 2u);
  });
}

TEST(EndToEnd, ManyThreadsToTheLastByte) {
  WithSource([](const SourceApi* source) {
    const CUcontext context = NewContext(0);
    ASSERT_EQ(source->start(SourceScope::kEverything), 0);
    constexpr int kThreads = 8;
    std::vector<std::thread> threads;
    std::vector<std::uint64_t> bytes(kThreads), calls(kThreads), live(kThreads);
    for (unsigned t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        EXPECT_CUDA(cuCtxSetCurrent(context));
        std::mt19937 random(t);
        std::vector<std::pair<CUdeviceptr, std::uint64_t>> mine;
        for (int i = 0; i < 300; ++i) {
          if (mine.size() > 20 || (random() % 3 == 0 && !mine.empty())) {
            EXPECT_CUDA(cuMemFree_v2(mine.back().first));
            mine.pop_back();
          } else {
            const std::uint64_t size = 1 + random() % 100000;
            CUdeviceptr address = 0;
            EXPECT_CUDA(cuMemAlloc_v2(&address, size));
            mine.emplace_back(address, size);
            bytes[t] += size;
            ++calls[t];
          }
        }
        for (const auto& [address, size] : mine) live[t] += size;
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::uint64_t expected_bytes = 0, expected_calls = 0, expected_live = 0;
    for (unsigned t = 0; t < kThreads; ++t) {
      expected_bytes += bytes[t];
      expected_calls += calls[t];
      expected_live += live[t];
    }
    std::map<std::uint64_t, std::uint64_t> blocks;
    std::uint64_t seen_bytes = 0, seen_calls = 0, seen_live = 0;
    for (const SourceEvent& event : Recorder().Events()) {
      const bool is_free = Recorder().Text(event.api) == "cuMemFree_v2";
      if (event.op == kReportedExit && !is_free) {
        EXPECT_TRUE(blocks.emplace(event.address, event.bytes).second) << "a free came too late";
        seen_bytes += event.bytes;
        ++seen_calls;
      } else if (event.op == kReportedEntry && is_free) {
        EXPECT_EQ(blocks.erase(event.address), 1u);
      }
    }
    for (const auto& [address, size] : blocks) seen_live += size;
    EXPECT_EQ(seen_calls, expected_calls);
    EXPECT_EQ(seen_bytes, expected_bytes);
    EXPECT_EQ(seen_live, expected_live);
  });
}

TEST(EndToEnd, StopsWhileThreadsAreInTheDriver) {
  WithSource([](const SourceApi* source) {
    const CUcontext context = NewContext(0);
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        EXPECT_CUDA(cuCtxSetCurrent(context));
        while (!stop) {
          CUdeviceptr address = 0;
          EXPECT_CUDA(cuMemAlloc_v2(&address, 4096));
          EXPECT_CUDA(cuMemFree_v2(address));
        }
      });
    }
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(source->start(static_cast<SourceScope>(i % 3)), 0);
      source->stop();
    }
    Recorder().Reset();
    stop = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(Recorder().Events().empty());
  });
}

}  // namespace
}  // namespace memprof::cupti_test
