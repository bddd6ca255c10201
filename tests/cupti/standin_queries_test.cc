// Queries that the stand-in libcupti answers or refuses.
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_version.h>
#include <gtest/gtest.h>

#include "simcuda/cupti/newer_cupti.h"
#include "tests/cupti/guest_calls.h"
#include "tests/cupti/process.h"
#include "tests/cupti/standin_callbacks.h"

namespace memprof::cupti_test {
namespace {

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
    EXPECT_EQ(cuptiEnableAllDomains(1, second), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
    CUdeviceptr address = 0;
    ASSERT_CUDA(cuMemAlloc_v2(&address, 1));
    EXPECT_TRUE(g_seen.empty());
    EXPECT_EQ(cuptiEnableCallback(1, second, CUPTI_CB_DOMAIN_DRIVER_API, kMemAlloc),
              CUPTI_ERROR_INVALID_PARAMETER);
    const auto third = Subscribe();
    for (const auto domain :
         {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RESOURCE, simcuda_cupti::kDomainState}) {
      std::uint32_t on = 7;
      EXPECT_EQ(cuptiGetCallbackState(&on, third, domain, 1), CUPTI_SUCCESS) << domain;
      EXPECT_EQ(on, 0u) << domain;
    }
    ASSERT_CUDA(cuMemAlloc_v2(&address, 1));
    EXPECT_TRUE(g_seen.empty()) << "for a new subscriber nothing is enabled";
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
    EXPECT_EQ(current, back) << "a query does not change the thread's context";
    CUstream stream = nullptr;
    ASSERT_CUDA(cuStreamCreate(&stream, 0));
    std::uint32_t default_id = 0, stream_id = 0;
    EXPECT_EQ(cuptiGetStreamId(back, nullptr, &default_id), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiGetStreamIdEx(back, stream, 0, &stream_id), CUPTI_SUCCESS);
    EXPECT_NE(default_id, stream_id);
  });
}

// All functions outside of the callback API exist, and return that they are not supported.
TEST(StandInCupti, SaysWhatItDoesNotSupport) {
  InProcess([] {
    ConfigureStandIn();
    EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY2), CUPTI_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(cuptiActivityFlushAll(0), CUPTI_ERROR_NOT_SUPPORTED);
    std::size_t size = 0;
    EXPECT_EQ(cuptiActivityGetNumDroppedRecords(nullptr, 0, &size), CUPTI_ERROR_NOT_SUPPORTED);
  });
}

}  // namespace
}  // namespace memprof::cupti_test
