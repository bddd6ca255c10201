// The stand-in libcupti on the stand-in libcuda: what a subscriber gets, and when.
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_version.h>
#include <generated_cuda_meta.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "simcuda/cupti/newer_cupti.h"
#include "tests/cupti/guest_calls.h"
#include "tests/cupti/process.h"

namespace memprof::cupti_test {
namespace {

constexpr CUpti_CallbackId kMemAlloc = CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2;
constexpr CUpti_CallbackId kLaunch = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;

struct Seen {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId cbid;
  CUpti_ApiCallbackSite site;
  std::string function;
  std::string symbol;
  CUcontext context;
  std::uint32_t context_uid;
  std::uint32_t correlation_id;
  std::uint64_t correlation_data;
  int result;
  cuMemAlloc_v2_params alloc;
  CUpti_ModuleResourceData module;
};
std::vector<Seen> g_seen;

void Note(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* untyped) {
  EXPECT_EQ(user, &g_seen);
  Seen seen{};
  seen.domain = domain;
  seen.cbid = cbid;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    const auto& data = *static_cast<const CUpti_CallbackData*>(untyped);
    seen.site = data.callbackSite;
    seen.function = data.functionName;
    seen.symbol = data.symbolName == nullptr ? "" : data.symbolName;
    seen.context = data.context;
    seen.context_uid = data.contextUid;
    seen.correlation_id = data.correlationId;
    if (data.callbackSite == CUPTI_API_ENTER) *data.correlationData = 1000 + data.correlationId;
    seen.correlation_data = *data.correlationData;
    seen.result = data.callbackSite == CUPTI_API_EXIT
                      ? *static_cast<const int*>(data.functionReturnValue)
                      : -1;
    if (cbid == kMemAlloc) std::memcpy(&seen.alloc, data.functionParams, sizeof seen.alloc);
  } else {
    const auto& data = *static_cast<const CUpti_ResourceData*>(untyped);
    seen.context = data.context;
    if (data.resourceDescriptor != nullptr) {
      seen.module = *static_cast<const CUpti_ModuleResourceData*>(data.resourceDescriptor);
    }
  }
  g_seen.push_back(seen);
}

CUpti_SubscriberHandle Subscribe() {
  CUpti_SubscriberHandle subscriber = nullptr;
  EXPECT_EQ(cuptiSubscribe(&subscriber, &Note, &g_seen), CUPTI_SUCCESS);
  g_seen.clear();
  return subscriber;
}

void Enable(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  EXPECT_EQ(cuptiEnableCallback(1, subscriber, domain, cbid), CUPTI_SUCCESS);
}

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
    ASSERT_CUDA(cuCtxDestroy_v2(context));  // its end was not asked for
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

TEST(StandInCupti, EnablesWholeDomainsAndTellsTheState) {
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

TEST(StandInCupti, ServesOneSubscriber) {
  InProcess([] {
    ConfigureStandIn();
    NewContext(0);
    CUpti_SubscriberHandle first = nullptr, second = nullptr;
    CUpti_SubscriberParams params{};
    params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    params.subscriberName = "first";
    EXPECT_EQ(cuptiSubscribe_v2(&first, &Note, &g_seen, &params), CUPTI_SUCCESS);
    char name[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
    params.oldSubscriberName = name;
    params.oldSubscriberSize = sizeof name;
    EXPECT_EQ(cuptiSubscribe_v2(&second, &Note, &g_seen, &params),
              CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    EXPECT_STREQ(name, "CUPTI for first");
    EXPECT_EQ(cuptiSubscribe(&second, &Note, &g_seen),
              CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    EXPECT_EQ(cuptiUnsubscribe(first), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiUnsubscribe(first), CUPTI_ERROR_INVALID_PARAMETER);
    EXPECT_EQ(cuptiSubscribe_v2(&second, &Note, &g_seen, nullptr), CUPTI_SUCCESS);
    Enable(second, CUPTI_CB_DOMAIN_DRIVER_API, kMemAlloc);
    EXPECT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
    CUdeviceptr address = 0;
    ASSERT_CUDA(cuMemAlloc_v2(&address, 1));
    EXPECT_TRUE(g_seen.empty());
    EXPECT_EQ(cuptiEnableCallback(1, second, CUPTI_CB_DOMAIN_DRIVER_API, kMemAlloc),
              CUPTI_ERROR_INVALID_PARAMETER);
    const auto third = Subscribe();
    ASSERT_CUDA(cuMemAlloc_v2(&address, 1));
    EXPECT_TRUE(g_seen.empty()) << "a new subscriber begins with nothing enabled";
    EXPECT_EQ(cuptiUnsubscribe(third), CUPTI_SUCCESS);
  });
}

TEST(StandInCupti, RefusesWhatMakesNoSense) {
  InProcess([] {
    ConfigureStandIn();
    CUpti_SubscriberHandle handle = nullptr;
    EXPECT_EQ(cuptiSubscribe(nullptr, &Note, nullptr), CUPTI_ERROR_INVALID_PARAMETER);
    EXPECT_EQ(cuptiSubscribe(&handle, nullptr, nullptr), CUPTI_ERROR_INVALID_PARAMETER);
    CUpti_SubscriberParams params{};
    EXPECT_EQ(cuptiSubscribe_v2(&handle, &Note, nullptr, &params), CUPTI_ERROR_INVALID_PARAMETER);
    const auto subscriber = Subscribe();
    const auto enable = [&](CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
      return cuptiEnableCallback(1, subscriber, domain, cbid);
    };
    EXPECT_EQ(enable(CUPTI_CB_DOMAIN_DRIVER_API, 0), CUPTI_ERROR_INVALID_PARAMETER);
    EXPECT_EQ(enable(CUPTI_CB_DOMAIN_DRIVER_API, 100000), CUPTI_ERROR_INVALID_PARAMETER);
    EXPECT_EQ(enable(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_SIZE),
              CUPTI_ERROR_INVALID_PARAMETER);
    EXPECT_EQ(enable(CUPTI_CB_DOMAIN_INVALID, 1), CUPTI_ERROR_INVALID_PARAMETER);
    EXPECT_EQ(enable(CUPTI_CB_DOMAIN_RUNTIME_API, 1), CUPTI_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(cuptiEnableCallback(1, nullptr, CUPTI_CB_DOMAIN_DRIVER_API, kMemAlloc),
              CUPTI_ERROR_INVALID_PARAMETER);
    std::uint32_t id = 0;
    EXPECT_EQ(cuptiGetContextId(reinterpret_cast<CUcontext>(0x10), &id),
              CUPTI_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuptiGetDeviceId(reinterpret_cast<CUcontext>(0x10), &id),
              CUPTI_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuptiGetVersion(nullptr), CUPTI_ERROR_INVALID_PARAMETER);
    EXPECT_EQ(cuptiGetTimestamp(nullptr), CUPTI_ERROR_INVALID_PARAMETER);
  });
}

TEST(StandInCupti, AnswersQueries) {
  InProcess([] {
    ConfigureStandIn();
    std::uint32_t version = 0;
    EXPECT_EQ(cuptiGetVersion(&version), CUPTI_SUCCESS);
    EXPECT_EQ(version, static_cast<std::uint32_t>(CUPTI_API_VERSION));
    std::uint64_t first = 0, second = 0;
    EXPECT_EQ(cuptiGetTimestamp(&first), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiGetTimestamp(&second), CUPTI_SUCCESS);
    EXPECT_GE(second, first);
    const char* text = nullptr;
    EXPECT_EQ(cuptiGetResultString(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, &text),
              CUPTI_SUCCESS);
    EXPECT_STREQ(text, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED");
    EXPECT_EQ(cuptiGetResultString(static_cast<CUptiResult>(5000), &text),
              CUPTI_ERROR_INVALID_PARAMETER);
    EXPECT_EQ(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, kMemAlloc, &text), CUPTI_SUCCESS);
    EXPECT_STREQ(text, "cuMemAlloc_v2");
    EXPECT_EQ(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, 100000, &text),
              CUPTI_ERROR_INVALID_PARAMETER);
    EXPECT_EQ(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RESOURCE, 1, &text),
              CUPTI_ERROR_INVALID_PARAMETER);
    NewContext(0);
    const CUcontext other = NewContext(1);
    const CUcontext back = NewContext(0);
    std::uint32_t device = 9;
    EXPECT_EQ(cuptiGetDeviceId(other, &device), CUPTI_SUCCESS);
    EXPECT_EQ(device, 1u);
    EXPECT_EQ(cuptiGetDeviceId(nullptr, &device), CUPTI_SUCCESS);
    EXPECT_EQ(device, 0u);
    CUcontext current = nullptr;
    ASSERT_CUDA(cuCtxGetCurrent(&current));
    EXPECT_EQ(current, back) << "a query leaves the thread's context alone";
    CUstream stream = nullptr;
    ASSERT_CUDA(cuStreamCreate(&stream, 0));
    std::uint32_t default_id = 0, stream_id = 0;
    EXPECT_EQ(cuptiGetStreamId(back, nullptr, &default_id), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiGetStreamIdEx(back, stream, 0, &stream_id), CUPTI_SUCCESS);
    EXPECT_NE(default_id, stream_id);
  });
}

// All that is not the callback API is there, and says that it is not served.
TEST(StandInCupti, SaysWhatItDoesNotSupport) {
  InProcess([] {
    ConfigureStandIn();
    EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY2), CUPTI_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(cuptiActivityFlushAll(0), CUPTI_ERROR_NOT_SUPPORTED);
    std::size_t size = 0;
    EXPECT_EQ(cuptiActivityGetNumDroppedRecords(nullptr, 0, &size), CUPTI_ERROR_NOT_SUPPORTED);
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
