// What a listener is told about driver calls and resources.
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "driver_fixture.h"
#include "simcuda/callbacks.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,fail=cuMemAllocHost_v2:1:304");

// The layout that generated_cuda_meta.h defines for the parameters of cuMemAlloc_v2.
struct AllocParams {
  CUdeviceptr* dptr;
  size_t bytesize;
};

struct Heard {
  struct Call {
    uint32_t cbid;
    int exit;
    std::string function;
    int result;
    uint32_t correlation;
    std::string symbol;
    CUcontext context;
  };
  std::mutex mutex;
  std::vector<Call> calls;
  std::vector<simcuda_resource_event> resources;
  size_t bytes = 0;
  CUdeviceptr address = 0;
  bool data_kept = true;
  CUresult context_known = CUDA_ERROR_UNKNOWN;  // at the latest resource event

  static void Api(void* user, const simcuda_api_call* call) {
    auto& heard = *static_cast<Heard*>(user);
    const std::lock_guard lock(heard.mutex);
    heard.calls.push_back({call->cbid, call->exit, call->function,
                           call->exit != 0 ? *call->result : -1, call->correlation_id,
                           call->symbol == nullptr ? "" : call->symbol,
                           static_cast<CUcontext>(call->context)});
    if (call->cbid == CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2) {
      const auto* params = static_cast<const AllocParams*>(call->params);
      heard.bytes = params->bytesize;
      if (call->exit != 0) heard.address = *params->dptr;
    }
    if (call->exit == 0) {
      *call->correlation_data = call->correlation_id + 7;
    } else {
      heard.data_kept = heard.data_kept && *call->correlation_data == call->correlation_id + 7;
    }
    // Calls made from a callback are not reported.
    size_t free = 0;
    cuMemGetInfo(&free, nullptr);
  }
  static void Resource(void* user, const simcuda_resource_event* event) {
    auto& heard = *static_cast<Heard*>(user);
    const std::lock_guard lock(heard.mutex);
    heard.resources.push_back(*event);
    // The context of the event can be queried, also when it is about to be destroyed.
    unsigned version = 0;
    heard.context_known = cuCtxGetApiVersion(static_cast<CUcontext>(event->context), &version);
  }
  std::vector<uint32_t> ResourceIds() {
    const std::lock_guard lock(mutex);
    std::vector<uint32_t> ids;
    for (const auto& event : resources) ids.push_back(event.cbid);
    return ids;
  }
};

class CallbackTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    const simcuda_listener listener = {&heard_, &Heard::Api, &Heard::Resource};
    ASSERT_EQ(0, simcuda_set_listener(&listener));
    EXPECT_EQ(1, simcuda_set_listener(&listener));
  }
  void TearDown() override {
    ASSERT_EQ(0, simcuda_set_listener(nullptr));
    simcuda_enable_resources(0);
    DriverTest::TearDown();
  }
  void Enable(uint32_t cbid) { simcuda_enable_api(cbid, 1); }
  Heard heard_;
};

TEST_F(CallbackTest, EntryAndReturnOfEnabledFunctionsOnly) {
  CUdeviceptr address = 0;
  CHECK_CU(cuMemAlloc(&address, 100));
  EXPECT_TRUE(heard_.calls.empty());
  Enable(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
  CUdeviceptr second = 0;
  CHECK_CU(cuMemAlloc(&second, 12345));
  CHECK_CU(cuMemFree(second));
  ASSERT_EQ(heard_.calls.size(), 2u);
  EXPECT_EQ(heard_.calls[0].exit, 0);
  EXPECT_EQ(heard_.calls[1].exit, 1);
  EXPECT_EQ(heard_.calls[1].function, "cuMemAlloc_v2");
  EXPECT_EQ(heard_.calls[1].result, 0);
  EXPECT_EQ(heard_.calls[0].correlation, heard_.calls[1].correlation);
  EXPECT_EQ(heard_.calls[0].context, context_);
  EXPECT_EQ(heard_.bytes, 12345u);
  EXPECT_EQ(heard_.address, second);
  EXPECT_TRUE(heard_.data_kept);
  simcuda_enable_api(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, 0);
  CHECK_CU(cuMemAlloc(&second, 1));
  EXPECT_EQ(heard_.calls.size(), 2u);
}

TEST_F(CallbackTest, CallsFromCallbacksAreNotHeard) {
  Enable(CUPTI_DRIVER_TRACE_CBID_cuMemGetInfo_v2);
  size_t free = 0;
  CHECK_CU(cuMemGetInfo(&free, nullptr));
  EXPECT_EQ(heard_.calls.size(), 2u);
}

TEST_F(CallbackTest, FailuresAreReportedToo) {
  Enable(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
  Enable(CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2);
  CUdeviceptr address = 0;
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&address, 2 * kGiB));
  void* pinned = nullptr;
  EXPECT_EQ(CUDA_ERROR_OPERATING_SYSTEM, cuMemAllocHost(&pinned, 10));
  ASSERT_EQ(heard_.calls.size(), 4u);
  EXPECT_EQ(heard_.calls[1].result, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(heard_.calls[3].result, CUDA_ERROR_OPERATING_SYSTEM);
}

TEST_F(CallbackTest, UnsupportedFunctionsAreReported) {
  Enable(CUPTI_DRIVER_TRACE_CBID_cuTexRefCreate);
  CUtexref texture = nullptr;
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuTexRefCreate(&texture));
  ASSERT_EQ(heard_.calls.size(), 2u);
  EXPECT_EQ(heard_.calls[1].result, CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(CallbackTest, LaunchesHaveTheirKernelsName) {
  simcuda_enable_resources(1);
  Enable(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  CUmodule module = nullptr;
  const char* image = ".version 8.0\n.target sm_90\n.entry nothing() { ret; }\n";
  CHECK_CU(cuModuleLoadData(&module, image));
  CUfunction function = nullptr;
  CHECK_CU(cuModuleGetFunction(&function, module, "nothing"));
  CHECK_CU(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  ASSERT_EQ(heard_.calls.size(), 2u);
  EXPECT_EQ(heard_.calls[0].symbol, "nothing");
  EXPECT_EQ(heard_.calls[1].symbol, "nothing");
  CHECK_CU(cuModuleUnload(module));
  ASSERT_EQ(heard_.ResourceIds(),
            std::vector<uint32_t>(
                {CUPTI_CBID_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING}));
  EXPECT_EQ(heard_.resources[0].image, image);
  EXPECT_EQ(heard_.resources[0].image_bytes, std::strlen(image));
  EXPECT_EQ(heard_.resources[0].module_id, heard_.resources[1].module_id);
}

TEST_F(CallbackTest, ContextsAndStreamsComeAndGo) {
  simcuda_enable_resources(1);
  CUcontext context = nullptr;
#if CUDA_VERSION >= 13000
  CHECK_CU(cuCtxCreate(&context, nullptr, 0, 0));
#else
  CHECK_CU(cuCtxCreate(&context, 0, 0));
#endif
  CUstream stream = nullptr;
  CHECK_CU(cuStreamCreate(&stream, 0));
  CHECK_CU(cuStreamDestroy(stream));
  CHECK_CU(cuCtxDestroy(context));
  EXPECT_EQ(heard_.ResourceIds(),
            std::vector<uint32_t>({CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
                                   CUPTI_CBID_RESOURCE_STREAM_CREATED,
                                   CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
                                   CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING}));
  EXPECT_EQ(heard_.resources[0].context, context);
  EXPECT_EQ(heard_.resources[1].stream, stream);
  EXPECT_EQ(heard_.context_known, CUDA_SUCCESS);
  unsigned version = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetApiVersion(context, &version));
}

TEST_F(CallbackTest, NamesOfIds) {
  EXPECT_STREQ(simcuda_api_name(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2), "cuMemAlloc_v2");
  EXPECT_EQ(simcuda_api_name(0), nullptr);
  EXPECT_EQ(simcuda_api_name(100000), nullptr);
}

TEST_F(CallbackTest, LeavingWaitsForCallbacks) {
  Enable(CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent);
  ASSERT_EQ(0, simcuda_set_listener(nullptr));
  std::atomic<bool> stop{false};
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      CUcontext current = nullptr;
      while (!stop) cuCtxGetCurrent(&current);
    });
  }
  for (int round = 0; round < 50; ++round) {
    struct Counts {
      std::atomic<int> begun{0};
      std::atomic<int> running{0};
    } counts;
    const simcuda_listener listener = {&counts,
                                       [](void* user, const simcuda_api_call*) {
                                         auto* mine = static_cast<Counts*>(user);
                                         ++mine->running;
                                         ++mine->begun;
                                         for (int i = 0; i < 20; ++i) std::this_thread::yield();
                                         --mine->running;
                                       },
                                       [](void*, const simcuda_resource_event*) {}};
    ASSERT_EQ(0, simcuda_set_listener(&listener));
    while (counts.begun.load() < 3) std::this_thread::yield();
    ASSERT_EQ(0, simcuda_set_listener(nullptr));
    // `counts` goes out of scope soon, so no callback may run after this point.
    ASSERT_EQ(counts.running, 0);
    const int begun = counts.begun;
    std::this_thread::yield();
    ASSERT_EQ(counts.begun, begun);
  }
  stop = true;
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace memprof::simcuda
