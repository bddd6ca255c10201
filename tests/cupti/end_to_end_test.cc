// The source on the stand-in driver and libcupti, as a program would use them, against a list of
// what the program did. The recorder is a fake.
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <dlfcn.h>
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

namespace memprof::cupti_test {
namespace {

using namespace vocabulary;  // NOLINT: the values of the log

FakeRecorder& Recorder() { return FakeRecorder::Get(); }

const SourceApi* Open() {
  ConfigureStandIn();
  void* library = dlopen(SOURCE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  if (library == nullptr) exit(1);
  return reinterpret_cast<SourceOpenFunction>(dlsym(library, kSourceOpenSymbol))(Recorder().api());
}

// Runs the body in its own process with the source opened.
template <typename Body>
void WithSource(const Body& body) {
  InProcess([&body] { body(Open()); });
}

std::string Describe(const SourceEvent& event) {
  if (event.op == kToldEntry || event.op == kToldExit)
    return Recorder().Text(event.api) +
           (event.op == kToldExit ? " answers " + std::to_string(event.result) : "");
  std::string text = Recorder().Text(event.api) + " op=" + std::to_string(event.op) +
                     " layer=" + std::to_string(event.layer) +
                     " bytes=" + std::to_string(event.bytes);
  if (event.label != 0) text += " " + Recorder().Text(event.label);
  return text;
}

std::vector<std::string> DescribeAll() {
  std::vector<std::string> all;
  for (const SourceEvent& event : Recorder().Events()) all.push_back(Describe(event));
  return all;
}

// A little of every family; returns what must be in the log. With `allocations` also memory.
std::vector<std::string> RunProgram(bool allocations) {
  std::vector<std::string> expected;
  const auto told = [&](const std::string& function, int result = 0) {
    if (!allocations) return;
    expected.push_back(function);
    expected.push_back(function + " answers " + std::to_string(result));
  };
  const auto always = [&](const std::string& text) { expected.push_back(text); };
  const CUcontext context = NewContext(1);
  told("cuCtxCreate_v2");
  if (!allocations) always("<none> op=16 layer=0 bytes=0");
  CUdeviceptr linear = 0, pitched = 0, managed = 0, ordered = 0;
  std::size_t pitch = 0;
  void* pinned = nullptr;
  EXPECT_CUDA(cuMemAlloc_v2(&linear, 10000));
  told("cuMemAlloc_v2");
  EXPECT_CUDA(cuMemAllocPitch_v2(&pitched, &pitch, 100, 8, 4));
  told("cuMemAllocPitch_v2");
  EXPECT_CUDA(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
  told("cuMemAllocManaged");
  EXPECT_CUDA(cuMemHostAlloc(&pinned, 2048, 0));
  told("cuMemHostAlloc");
  CUstream stream = nullptr;
  EXPECT_CUDA(cuStreamCreate(&stream, 0));
  EXPECT_CUDA(cuMemAllocAsync(&ordered, 777, stream));
  told("cuMemAllocAsync");
  CUdeviceptr never = 0;
  EXPECT_EQ(cuMemAlloc_v2(&never, std::size_t{1} << 40), CUDA_ERROR_OUT_OF_MEMORY);
  told("cuMemAlloc_v2", CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_CUDA(cuMemcpyHtoD_v2(linear, pinned, 1000));
  always("cuMemcpyHtoD_v2 op=24 layer=0 bytes=1000");
  EXPECT_CUDA(cuMemcpyDtoHAsync_v2(pinned, linear, 1001, stream));
  always("cuMemcpyDtoHAsync_v2 op=24 layer=0 bytes=1001");
  EXPECT_CUDA(cuMemsetD32_v2(linear, 7, 100));
  always("cuMemsetD32_v2 op=25 layer=0 bytes=400");
  CUmodule module = nullptr;
  CUfunction axpy = nullptr;
  EXPECT_CUDA(cuModuleLoadData(&module, kPtx));
  always("<none> op=19 layer=12 bytes=*");
  EXPECT_CUDA(cuModuleGetFunction(&axpy, module, "axpy"));
  int count = 3;
  CUdeviceptr inside = ordered + 16;
  void* arguments[] = {&linear, &count, &inside};
  EXPECT_CUDA(cuLaunchKernel(axpy, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr));
  always("cuLaunchKernel op=22 layer=0 bytes=0 axpy");
  always("cuLaunchKernel op=23 layer=0 bytes=0");
  always("cuLaunchKernel op=23 layer=0 bytes=0");
  EXPECT_CUDA(cuStreamSynchronize(stream));
  always("cuStreamSynchronize op=26 layer=0 bytes=0");
  EXPECT_CUDA(cuMemFreeAsync(ordered, stream));
  told("cuMemFreeAsync");
  EXPECT_CUDA(cuMemFree_v2(linear));
  told("cuMemFree_v2");
  EXPECT_NE(cuMemFree_v2(0x1000), CUDA_SUCCESS);
  told("cuMemFree_v2", CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuMemFree_v2(pitched));
  told("cuMemFree_v2");
  EXPECT_CUDA(cuMemFreeHost(pinned));
  told("cuMemFreeHost");
  EXPECT_CUDA(cuCtxSynchronize());
  always("cuCtxSynchronize op=26 layer=0 bytes=0");
  EXPECT_CUDA(cuModuleUnload(module));
  always("<none> op=20 layer=12 bytes=*");
  EXPECT_CUDA(cuCtxDestroy_v2(context));
  told("cuCtxDestroy_v2");
  if (!allocations) always("<none> op=17 layer=0 bytes=0");
  return expected;
}

// As described, but for the size of the module's image, which is the driver's business.
std::vector<std::string> Comparable(std::vector<std::string> events) {
  for (std::string& text : events) {
    if (text.starts_with(" op=")) text = "<none>" + text;
    if (text.find("layer=12") != std::string::npos) {
      text = text.substr(0, text.find("bytes=")) + "bytes=*";
    }
  }
  return events;
}

TEST(EndToEnd, EveryEventOfAProgramInItsOrder) {
  for (const int allocations : {0, 1}) {
    WithSource([allocations](const SourceApi* source) {
      ASSERT_EQ(source->start(allocations), 0) << Recorder().States().back().detail;
      const auto expected = RunProgram(allocations != 0);
      EXPECT_EQ(Comparable(DescribeAll()), expected);
      source->stop();
    });
  }
}

TEST(EndToEnd, ContextsNameTheirDevices) {
  WithSource([](const SourceApi* source) {
    ASSERT_EQ(source->start(0), 0);
    const CUcontext context = NewContext(1);
    NewContext(0);
    const auto contexts = Recorder().Events(kOpContextCreate);
    ASSERT_EQ(contexts.size(), 2u);
    EXPECT_EQ(contexts[0].device, 1);
    EXPECT_EQ(contexts[0].context, reinterpret_cast<std::uint64_t>(context));
    EXPECT_EQ(contexts[1].device, 0);
  });
}

TEST(EndToEnd, LaunchesTouchTheirPointers) {
  WithSource([](const SourceApi* source) {
    ASSERT_EQ(source->start(0), 0);
    NewContext(0);
    CUmodule module = nullptr;
    CUfunction axpy = nullptr;
    CUdeviceptr x = 0, y = 0;
    ASSERT_CUDA(cuMemAlloc_v2(&x, 1 << 20));
    ASSERT_CUDA(cuMemAlloc_v2(&y, 1 << 20));
    ASSERT_CUDA(cuModuleLoadData(&module, kPtx));
    ASSERT_CUDA(cuModuleGetFunction(&axpy, module, "axpy"));
    const CUdeviceptr middle = y + 4096;
    int count = 3;
    CUdeviceptr arguments_storage[] = {x, middle};
    void* arguments[] = {&arguments_storage[0], &count, &arguments_storage[1]};
    for (int i = 0; i < 3; ++i) {
      ASSERT_CUDA(cuLaunchKernel(axpy, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
    }
    const auto touches = Recorder().Events(kOpTouch);
    ASSERT_EQ(touches.size(), 6u);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(touches[i].address, i % 2 == 0 ? x : middle);
  });
}

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
    EXPECT_NE(source->start(1), 0);
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
    EXPECT_EQ(source->start(1), 0) << "now it is free";
  });
}

TEST(EndToEnd, IsInTheWayOfOthersOnlyWhileItRuns) {
  WithSource([](const SourceApi* source) {
    NewContext(0);
    const auto callback = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {};
    CUpti_SubscriberHandle other = nullptr;
    ASSERT_EQ(source->start(0), 0);
    EXPECT_EQ(cuptiSubscribe(&other, callback, nullptr),
              CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    source->stop();
    EXPECT_EQ(cuptiSubscribe(&other, callback, nullptr), CUPTI_SUCCESS);
  });
}

TEST(EndToEnd, ComesBackAfterAnotherFinalisedCupti) {
  WithSource([](const SourceApi* source) {
    NewContext(0);
    ASSERT_EQ(source->start(1), 0);
    ASSERT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
    CUdeviceptr address = 0;
    ASSERT_CUDA(cuMemAlloc_v2(&address, 4096));
    EXPECT_TRUE(Recorder().Events().empty());
    ASSERT_EQ(source->start(1), 0);
    const auto states = Recorder().States();
    ASSERT_EQ(states.size(), 3u);
    EXPECT_EQ(states[1].state, kSourceLost);
    EXPECT_EQ(states[2].state, kSourceOn);
    ASSERT_CUDA(cuMemFree_v2(address));
    EXPECT_EQ(Recorder().Events(kToldEntry).size(), 1u);
    // Somebody else may have subscribed since: a stop must not take that away.
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
    ASSERT_EQ(source->start(1), 0);
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
    EXPECT_EQ(Recorder().Events(kToldEntry).size(), 1u);
    // Somebody else has it in the meantime: he keeps it, and it is taken up when he is done.
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
    EXPECT_EQ(Recorder().Events(kToldExit).size(), 2u);
  });
}

TEST(EndToEnd, ManyThreadsToTheLastByte) {
  WithSource([](const SourceApi* source) {
    const CUcontext context = NewContext(0);
    ASSERT_EQ(source->start(1), 0);
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
      if (event.op == kToldExit && !is_free) {
        EXPECT_TRUE(blocks.emplace(event.address, event.bytes).second) << "a free came too late";
        seen_bytes += event.bytes;
        ++seen_calls;
      } else if (event.op == kToldEntry && is_free) {
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
      EXPECT_EQ(source->start(i % 2), 0);
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
