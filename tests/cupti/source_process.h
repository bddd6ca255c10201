// The source as a library, with the fake libcupti, in a separate process for each test because a
// source cannot be unloaded.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <iterator>

#include "cupti_hooks/src/driver_params.h"
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/source_api/source_api.h"
#include "tests/cupti/fake_cupti.h"
#include "tests/cupti/fake_recorder.h"
#include "tests/cupti/process.h"
#include "tests/support/paths.h"

namespace memprof::cupti_test {

using namespace vocabulary;  // NOLINT: the values of the log

inline constexpr std::uint32_t kDriverGetVersion = 2;
inline constexpr std::uint32_t kMemAllocV2 = 243;
inline constexpr std::uint32_t kMemPoolCreate = 607;
inline constexpr std::uint32_t kLaunchKernel = 307;
inline constexpr std::uint32_t kMemcpyHtoDV2 = 276;

// Only in child processes.
inline FakeCuptiControls* g_cupti = nullptr;
inline const SourceApi* g_source = nullptr;
inline std::atomic<bool> g_deliver_heartbeats{true};

inline FakeRecorder& Recorder() { return FakeRecorder::Get(); }

inline void Deliver(CUpti_CallbackDomain domain, std::uint32_t cbid, const void* data) {
  g_cupti->callback(nullptr, domain, cbid, data);
}

// A call of the program, delivered if its callback is enabled.
inline void Call(std::uint32_t cbid, const void* params) {
  if (g_cupti->driver_on[cbid] == 0) return;
  CUresult result = CUDA_SUCCESS;
  std::uint64_t correlation = 0;
  CUpti_CallbackData data{};
  data.functionParams = params;
  data.correlationData = &correlation;
  Deliver(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &data);
  data.callbackSite = CUPTI_API_EXIT;
  data.functionReturnValue = &result;
  Deliver(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &data);
}

inline void CopySomething() {
  const cuMemcpyHtoD_v2_params params = {0x1000, nullptr, 64};
  Call(kMemcpyHtoDV2, &params);
}

// The driver's cuDriverGetVersion; it causes a callback, as the real function does.
inline int DriverGetVersion(int* version) {
  *version = 13000;
  if (g_cupti->callback != nullptr && g_deliver_heartbeats) Call(kDriverGetVersion, &version);
  return 0;
}

inline void Open() {
  setenv("MEMPROF_CUPTI_LIBRARY", paths::kFakeCupti, 1);
  void* fake = dlopen(paths::kFakeCupti, RTLD_NOW);
  ASSERT_NE(fake, nullptr) << dlerror();
  g_cupti = reinterpret_cast<FakeCuptiControls* (*)()>(dlsym(fake, "fake_cupti_controls"))();
  void* library = dlopen(paths::kSourceLibrary, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  Recorder().SetDriverFunction("cuDriverGetVersion", reinterpret_cast<void*>(&DriverGetVersion));
  g_source =
      reinterpret_cast<SourceOpenFunction>(dlsym(library, kSourceOpenSymbol))(Recorder().api());
  ASSERT_NE(g_source, nullptr);
  ASSERT_EQ(g_source->version, kSourceApiVersion);
}

// Runs the body in a separate process, with the source opened.
inline void WithSource(const std::function<void()>& body) {
  InProcess([&body] {
    Open();
    if (!testing::Test::HasFailure()) body();
  });
}

inline StateChange LastState() {
  const auto states = Recorder().States();
  return states.empty() ? StateChange{99, "none"} : states.back();
}

inline unsigned EnabledCallbacks() {
  return static_cast<unsigned>(
      std::count(std::begin(g_cupti->driver_on), std::end(g_cupti->driver_on), 1));
}

}  // namespace memprof::cupti_test
