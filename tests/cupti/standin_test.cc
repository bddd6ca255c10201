// The stand-in libcupti on the stand-in libcuda: what a subscriber gets, and when.
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "simcuda/cupti/newer_cupti.h"
#include "tests/cupti/guest_calls.h"
#include "tests/cupti/process.h"
#include "tests/cupti/standin_callbacks.h"

namespace memprof::cupti_test {
namespace {

TEST(StandInCupti, DeliversEntryAndReturnOfAnEnabledFunction) {
  InProcess([] {
    ConfigureStandIn();
    const CUcontext context = NewContext(1);
    const auto subscriber = Subscribe();
    Enable(subscriber, CUPTI_CB_DOMAIN_DRIVER_API, kMemAlloc);
    CUdeviceptr address = 0;
    ASSERT_CUDA(cuMemAlloc_v2(&address, 12345));
    ASSERT_CUDA(cuMemFree_v2(address));  // not enabled
    ASSERT_EQ(g_seen.size(), 2u);
    for (const Seen& seen : g_seen) {
      EXPECT_EQ(seen.cbid, kMemAlloc);
      EXPECT_EQ(seen.function, "cuMemAlloc_v2");
      EXPECT_EQ(seen.symbol, "");
      EXPECT_EQ(seen.context, context);
      EXPECT_EQ(seen.alloc.dptr, &address);
      EXPECT_EQ(seen.alloc.bytesize, 12345u);
      EXPECT_EQ(seen.correlation_id, g_seen[0].correlation_id);
      EXPECT_EQ(seen.correlation_data, 1000u + seen.correlation_id);
      std::uint32_t uid = 0;
      EXPECT_EQ(cuptiGetContextId(context, &uid), CUPTI_SUCCESS);
      EXPECT_EQ(seen.context_uid, uid);
    }
    EXPECT_EQ(g_seen[0].site, CUPTI_API_ENTER);
    EXPECT_EQ(g_seen[1].site, CUPTI_API_EXIT);
    EXPECT_EQ(g_seen[1].result, 0);
    g_seen.clear();
    EXPECT_EQ(cuMemAlloc_v2(&address, std::size_t{1} << 40), CUDA_ERROR_OUT_OF_MEMORY);
    ASSERT_EQ(g_seen.size(), 2u);
    EXPECT_EQ(g_seen[1].result, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuptiEnableCallback(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, kMemAlloc),
              CUPTI_SUCCESS);
    g_seen.clear();
    ASSERT_CUDA(cuMemAlloc_v2(&address, 1));
    EXPECT_TRUE(g_seen.empty());
  });
}

TEST(StandInCupti, NamesTheKernelOfALaunch) {
  InProcess([] {
    ConfigureStandIn();
    NewContext(0);
    CUmodule module = nullptr;
    CUfunction idle = nullptr;
    ASSERT_CUDA(cuModuleLoadData(&module, kPtx));
    ASSERT_CUDA(cuModuleGetFunction(&idle, module, "idle"));
    const auto subscriber = Subscribe();
    Enable(subscriber, CUPTI_CB_DOMAIN_DRIVER_API, kLaunch);
    ASSERT_CUDA(cuLaunchKernel(idle, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    ASSERT_EQ(g_seen.size(), 2u);
    EXPECT_EQ(g_seen[0].symbol, "idle");
    EXPECT_EQ(g_seen[1].symbol, "idle");
  });
}

TEST(StandInCupti, DeliversResourceEventsOneById) {
  InProcess([] {
    ConfigureStandIn();
    const auto subscriber = Subscribe();
    Enable(subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
    Enable(subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED);
    Enable(subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
    const CUcontext context = NewContext(1);
    CUmodule module = nullptr;
    ASSERT_CUDA(cuModuleLoadData(&module, kPtx));
    ASSERT_CUDA(cuModuleUnload(module));
    ASSERT_CUDA(cuCtxDestroy_v2(context));  // the callback for its end was not enabled
    ASSERT_EQ(g_seen.size(), 3u);
    EXPECT_EQ(g_seen[0].cbid, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
    EXPECT_EQ(g_seen[1].cbid, CUPTI_CBID_RESOURCE_MODULE_LOADED);
    EXPECT_EQ(g_seen[2].cbid, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
    for (const Seen& seen : g_seen) EXPECT_EQ(seen.context, context);
    EXPECT_NE(g_seen[1].module.moduleId, 0u);
    EXPECT_EQ(g_seen[1].module.moduleId, g_seen[2].module.moduleId);
    EXPECT_EQ(g_seen[1].module.pCubin, static_cast<const char*>(kPtx));
  });
}

TEST(StandInCupti, EnablesWholeDomainsAndReportsTheState) {
  InProcess([] {
    ConfigureStandIn();
    NewContext(0);
    const auto subscriber = Subscribe();
    std::uint32_t on = 7;
    EXPECT_EQ(cuptiGetCallbackState(&on, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, kMemAlloc),
              CUPTI_SUCCESS);
    EXPECT_EQ(on, 0u);
    EXPECT_EQ(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiGetCallbackState(&on, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, kMemAlloc),
              CUPTI_SUCCESS);
    EXPECT_EQ(on, 1u);
    std::size_t free = 0, total = 0;
    ASSERT_CUDA(cuMemGetInfo_v2(&free, &total));
    ASSERT_EQ(g_seen.size(), 2u);
    EXPECT_EQ(g_seen[0].function, "cuMemGetInfo_v2");
    EXPECT_EQ(cuptiEnableDomain(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiEnableAllDomains(1, subscriber), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiGetCallbackState(&on, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                                    CUPTI_CBID_RESOURCE_MODULE_LOADED),
              CUPTI_SUCCESS);
    EXPECT_EQ(on, 1u);
    std::size_t domains = 0;
    CUpti_DomainTable table = nullptr;
    EXPECT_EQ(cuptiSupportedDomains(&domains, &table), CUPTI_SUCCESS);
    ASSERT_EQ(domains, 3u);
    EXPECT_EQ(table[0], CUPTI_CB_DOMAIN_DRIVER_API);
  });
}

TEST(StandInCupti, UnsubscribeWaitsForCallbacksOfOtherThreads) {
  InProcess([] {
    ConfigureStandIn();
    const CUcontext context = NewContext(0);
    static std::atomic<int> running{0};
    static std::atomic<bool> gone{false};
    static std::atomic<int> late{0};
    CUpti_SubscriberHandle subscriber = nullptr;
    ASSERT_EQ(cuptiSubscribe(
                  &subscriber,
                  [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {
                    ++running;
                    std::this_thread::yield();
                    if (gone) ++late;
                  },
                  nullptr),
              CUPTI_SUCCESS);
    Enable(subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemGetInfo_v2);
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        EXPECT_CUDA(cuCtxSetCurrent(context));
        std::size_t free = 0, total = 0;
        while (!stop) EXPECT_CUDA(cuMemGetInfo_v2(&free, &total));
      });
    }
    while (running < 100) std::this_thread::yield();
    EXPECT_EQ(cuptiUnsubscribe(subscriber), CUPTI_SUCCESS);
    gone = true;
    stop = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(late, 0);
  });
}

}  // namespace
}  // namespace memprof::cupti_test
