// The life of the source: subscribing with every kind of CUPTI, being refused, stopping, being
// thrown out, forking, ending. Runs on a libcupti of its own; each test is a process of its own,
// because a source stays in its process.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "cupti_hooks/src/callback_table.h"
#include "cupti_hooks/src/cupti_state.h"
#include "cupti_hooks/src/driver_params.h"
#include "cupti_hooks/src/log_values.h"
#include "libmemprof/src/source_api.h"
#include "tests/cupti/fake_cupti.h"
#include "tests/cupti/fake_recorder.h"
#include "tests/cupti/process.h"

namespace memprof::cupti_test {
namespace {

using cupti::kOpContextCreate;
using cupti::kOpContextDestroy;
using cupti::kOpMemcpy;
using cupti::kOpModuleLoad;
using cupti::kOpModuleUnload;

constexpr std::uint32_t kDriverGetVersion = 2;
constexpr std::uint32_t kMemAllocV2 = 243;
constexpr std::uint32_t kMemPoolCreate = 607;
constexpr std::uint32_t kMemcpyHtoDV2 = 276;

// Only in child processes.
FakeCuptiControls* g_cupti = nullptr;
const SourceApi* g_source = nullptr;
std::atomic<bool> g_deliver_heartbeats{true};

FakeRecorder& Recorder() { return FakeRecorder::Get(); }

void Deliver(CUpti_CallbackDomain domain, std::uint32_t cbid, const void* data) {
  g_cupti->callback(nullptr, domain, cbid, data);
}

// A call of the program, if its callback is enabled.
void Call(std::uint32_t cbid, const void* params) {
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

void CopySomething() {
  const cuMemcpyHtoD_v2_params params = {0x1000, nullptr, 64};
  Call(kMemcpyHtoDV2, &params);
}

// The driver's cuDriverGetVersion: tells CUPTI, as the real one does.
int DriverGetVersion(int* version) {
  *version = 13000;
  if (g_cupti->callback != nullptr && g_deliver_heartbeats) Call(kDriverGetVersion, &version);
  return 0;
}

void Open() {
  setenv("MEMPROF_CUPTI_LIBRARY", FAKE_CUPTI, 1);
  void* fake = dlopen(FAKE_CUPTI, RTLD_NOW);
  ASSERT_NE(fake, nullptr) << dlerror();
  g_cupti = reinterpret_cast<FakeCuptiControls* (*)()>(dlsym(fake, "fake_cupti_controls"))();
  void* library = dlopen(SOURCE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  Recorder().SetDriverFunction("cuDriverGetVersion", reinterpret_cast<void*>(&DriverGetVersion));
  g_source =
      reinterpret_cast<SourceOpenFunction>(dlsym(library, kSourceOpenSymbol))(Recorder().api());
  ASSERT_NE(g_source, nullptr);
  ASSERT_EQ(g_source->version, kSourceApiVersion);
}

// In a process of its own, with the source opened.
void InProcess(const std::function<void()>& body) {
  cupti_test::InProcess<std::function<void()>>([&body] {
    Open();
    if (!testing::Test::HasFailure()) body();
  });
}

StateChange LastState() {
  const auto states = Recorder().States();
  return states.empty() ? StateChange{99, "none"} : states.back();
}

unsigned EnabledCallbacks() {
  return static_cast<unsigned>(
      std::count(std::begin(g_cupti->driver_on), std::end(g_cupti->driver_on), 1));
}

#define COUNT_ROW(...) +1
constexpr unsigned kRows = 0 MEMPROF_CUPTI_CALLBACKS(COUNT_ROW);
constexpr unsigned kPoolRows = 8;  // pools, resets, references to physical memory
#undef COUNT_ROW

TEST(Source, RefusesARecorderOfAnotherVersion) {
  void* library = dlopen(SOURCE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto open = reinterpret_cast<SourceOpenFunction>(dlsym(library, kSourceOpenSymbol));
  ASSERT_NE(open, nullptr);
  RecorderApi other = *Recorder().api();
  other.version = kSourceApiVersion + 1;
  EXPECT_EQ(open(&other), nullptr);
  EXPECT_EQ(open(nullptr), nullptr);
}

TEST(Source, EnablesSingleCallbacksAndNeverADomain) {
  InProcess([] {
    ASSERT_EQ(g_source->start(0), 0);
    EXPECT_EQ(EnabledCallbacks(), kRows - kPoolRows);
    EXPECT_EQ(g_cupti->driver_on[kMemPoolCreate], 0);
    EXPECT_EQ(g_cupti->driver_on[kMemAllocV2], 1);
    EXPECT_EQ(g_cupti->resource_on[CUPTI_CBID_RESOURCE_CONTEXT_CREATED], 1);
    EXPECT_EQ(g_cupti->resource_on[CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING], 1);
    EXPECT_EQ(g_cupti->resource_on[CUPTI_CBID_RESOURCE_STREAM_CREATED], 0);
    EXPECT_EQ(g_cupti->state_on[cupti::kStateFatalError], 1);
    EXPECT_EQ(g_cupti->domains_enabled, 0);
    EXPECT_EQ(LastState().state, cupti::kSourceOn);
    EXPECT_NE(LastState().detail.find("CUPTI 13.0"), std::string::npos) << LastState().detail;
  });
}

TEST(Source, TakesPoolsTooWhenAllocationsAreItsTask) {
  InProcess([] {
    ASSERT_EQ(g_source->start(1), 0);
    EXPECT_EQ(EnabledCallbacks(), kRows);
    EXPECT_NE(LastState().detail.find("allocations"), std::string::npos) << LastState().detail;
  });
}

TEST(Source, SkipsWhatAnOlderCuptiDoesNotKnow) {
  InProcess([] {
    g_cupti->version = 18;  // CUDA 11.8
    g_cupti->known_cbids = 677;
    ASSERT_EQ(g_source->start(1), 0);
    EXPECT_EQ(EnabledCallbacks(), kRows - 8);  // kernels 2, batches 4, multicast, a sync
    EXPECT_NE(LastState().detail.find("8 not known"), std::string::npos) << LastState().detail;
  });
}

// Should an id ever mean another function, its parameters would be misread.
TEST(Source, SkipsAnIdThatMeansAnotherFunction) {
  InProcess([] {
    g_cupti->renamed_cbid = kMemAllocV2;
    ASSERT_EQ(g_source->start(1), 0);
    EXPECT_EQ(g_cupti->driver_on[kMemAllocV2], 0);
    EXPECT_EQ(EnabledCallbacks(), kRows - 1);
  });
}

TEST(Source, SubscribesBesideOthersWhereCuptiCan) {
  InProcess([] {
    g_cupti->version = 130200;
    ASSERT_EQ(g_source->start(0), 0);
    EXPECT_EQ(g_cupti->multiple_calls, 1);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 0);
    EXPECT_EQ(g_cupti->struct_size, 33u);
  });
  InProcess([] {
    g_cupti->version = 130001;
    ASSERT_EQ(g_source->start(0), 0);
    EXPECT_EQ(g_cupti->multiple_calls, 0);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 1);
    EXPECT_EQ(g_cupti->struct_size, 32u);
  });
}

TEST(Source, FallsBackToPlainerWaysOfSubscribing) {
  InProcess([] {
    g_cupti->version = 130300;
    g_cupti->multiple_result = CUPTI_ERROR_NOT_SUPPORTED;
    g_cupti->subscribe_v2_result = CUPTI_ERROR_INVALID_PARAMETER;
    ASSERT_EQ(g_source->start(0), 0);
    EXPECT_EQ(g_cupti->multiple_calls, 1);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 1);
    EXPECT_EQ(g_cupti->subscribe_calls, 1);
  });
}

TEST(Source, NamesTheSubscriberThatIsInItsWay) {
  InProcess([] {
    g_cupti->subscribe_v2_result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    g_cupti->other_subscriber = "CUPTI for kineto";
    EXPECT_NE(g_source->start(0), 0);
    EXPECT_EQ(LastState().state, cupti::kSourceRefused);
    EXPECT_NE(LastState().detail.find("CUPTI for kineto"), std::string::npos) << LastState().detail;
    EXPECT_NE(LastState().detail.find("39"), std::string::npos) << LastState().detail;
    EXPECT_EQ(Recorder().States().size(), 1u);
    EXPECT_EQ(g_cupti->subscribe_calls, 0) << "a second try would not help";
    EXPECT_EQ(EnabledCallbacks(), 0u);
    g_source->stop();
    EXPECT_EQ(g_cupti->unsubscribe_calls, 0);
    g_cupti->subscribe_v2_result = 0;  // the other one went away
    EXPECT_EQ(g_source->start(0), 0);
    EXPECT_EQ(LastState().state, cupti::kSourceOn);
  });
}

TEST(Source, SaysWhyOfOtherFailures) {
  InProcess([] {
    g_cupti->subscribe_v2_result = CUPTI_ERROR_UNKNOWN;
    EXPECT_NE(g_source->start(0), 0);
    EXPECT_EQ(LastState().state, cupti::kSourceRefused);
    EXPECT_NE(LastState().detail.find("error 999, CUPTI_ERROR_TEST"), std::string::npos)
        << LastState().detail;
    g_cupti->subscribe_v2_result = 0;
    g_cupti->enable_result = CUPTI_ERROR_NOT_INITIALIZED;
    EXPECT_NE(g_source->start(0), 0);
    EXPECT_EQ(g_cupti->unsubscribe_calls, 1) << "the subscription is given back";
    EXPECT_EQ(LastState().state, cupti::kSourceRefused);
  });
  InProcess([] {
    setenv("MEMPROF_CUPTI_LIBRARY", "/nonexistent/libcupti.so.13", 1);
    EXPECT_NE(g_source->start(0), 0);
    EXPECT_NE(LastState().detail.find("/nonexistent/libcupti.so.13"), std::string::npos)
        << LastState().detail;
  });
  InProcess([] {
    setenv("MEMPROF_CUPTI_LIBRARY", SOURCE_LIBRARY, 1);  // a library, but not this one
    EXPECT_NE(g_source->start(0), 0);
    EXPECT_NE(LastState().detail.find("has no cuptiSubscribe"), std::string::npos)
        << LastState().detail;
  });
}

// A copy of the fake libcupti under another name, removed at the end.
class CopiedCupti {
 public:
  CopiedCupti(const std::string& below, const std::string& name)
      : home_(testing::TempDir() + "cuda" + std::to_string(getpid())) {
    const std::string directory = home_ + "/" + below;
    path_ = directory + "/" + name;
    EXPECT_EQ(system(("mkdir -p " + directory + " && cp " FAKE_CUPTI " " + path_).c_str()), 0);
  }
  ~CopiedCupti() { EXPECT_EQ(system(("rm -r " + home_).c_str()), 0); }
  const std::string& home() const { return home_; }
  const std::string& path() const { return path_; }

 private:
  std::string home_;
  std::string path_;
};

TEST(Source, UsesTheLibcuptiThatIsMapped) {
  InProcess([] {
    const CopiedCupti copy("lib", "libcupti.so.12");
    void* mapped = dlopen(copy.path().c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(mapped, nullptr) << dlerror();
    g_cupti = reinterpret_cast<FakeCuptiControls* (*)()>(dlsym(mapped, "fake_cupti_controls"))();
    unsetenv("MEMPROF_CUPTI_LIBRARY");
    EXPECT_EQ(g_source->start(0), 0);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 1);
    EXPECT_NE(LastState().detail.find(copy.path()), std::string::npos) << LastState().detail;
  });
}

int OldDriverGetVersion(int* version) { return *version = 11060, 0; }

// The loader's path may hold a newer libcupti, which an old driver does not serve.
TEST(Source, FindsTheLibcuptiOfTheDriversVersionInCudaHome) {
  InProcess([] {
    const CopiedCupti copy("extras/CUPTI/lib64", "libcupti.so.11.6");
    Recorder().SetDriverFunction("cuDriverGetVersion",
                                 reinterpret_cast<void*>(&OldDriverGetVersion));
    unsetenv("MEMPROF_CUPTI_LIBRARY");
    setenv("CUDA_HOME", copy.home().c_str(), 1);
    EXPECT_EQ(g_source->start(0), 0);
    EXPECT_NE(LastState().detail.find(copy.path()), std::string::npos) << LastState().detail;
  });
}

// As pip installs them: nvidia/cuda_runtime/lib beside nvidia/cuda_cupti/lib.
TEST(Source, FindsTheLibcuptiBesideTheRuntime) {
  InProcess([] {
    const CopiedCupti copy("cuda_cupti/lib", "libcupti.so.12");
    const std::string runtime = copy.home() + "/cuda_runtime/lib/libcudart.so.12";
    ASSERT_EQ(
        system(("mkdir -p " + copy.home() + "/cuda_runtime/lib && cp " FAKE_CUPTI " " + runtime)
                   .c_str()),
        0);
    ASSERT_NE(dlopen(runtime.c_str(), RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
    unsetenv("MEMPROF_CUPTI_LIBRARY");
    EXPECT_EQ(g_source->start(0), 0);
    EXPECT_NE(LastState().detail.find("cuda_cupti/lib"), std::string::npos) << LastState().detail;
    EXPECT_NE(LastState().detail.find(copy.home()), std::string::npos) << LastState().detail;
  });
}

TEST(Source, StopsAndStartsAgain) {
  InProcess([] {
    g_source->stop();  // before the first start: nothing
    ASSERT_EQ(g_source->start(0), 0);
    CopySomething();
    EXPECT_EQ(Recorder().Events(kOpMemcpy).size(), 1u);
    g_source->stop();
    g_source->stop();
    EXPECT_EQ(g_cupti->unsubscribe_calls, 1);
    EXPECT_EQ(LastState().state, cupti::kSourceOff);
    CopySomething();  // a callback that was under way
    EXPECT_EQ(Recorder().Events(kOpMemcpy).size(), 1u);
    ASSERT_EQ(g_source->start(0), 0);
    CopySomething();
    EXPECT_EQ(Recorder().Events(kOpMemcpy).size(), 2u);
    ASSERT_EQ(g_source->start(0), 0);  // already on
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 2);
  });
}

TEST(Source, ChangesItsTaskWithoutANewSubscription) {
  InProcess([] {
    ASSERT_EQ(g_source->start(0), 0);
    CUdeviceptr address = 0x7f0000000000;
    const cuMemAlloc_v2_params params = {&address, 4096};
    Call(kMemAllocV2, &params);
    EXPECT_TRUE(Recorder().Events().empty());
    ASSERT_EQ(g_source->start(1), 0);
    EXPECT_EQ(g_cupti->driver_on[kMemPoolCreate], 1);
    Call(kMemAllocV2, &params);
    EXPECT_EQ(Recorder().Events().size(), 1u);
    ASSERT_EQ(g_source->start(0), 0);
    EXPECT_EQ(g_cupti->driver_on[kMemPoolCreate], 0);
    Call(kMemAllocV2, &params);
    EXPECT_EQ(Recorder().Events().size(), 1u);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 1);
  });
}

// A recorder that runs into trouble stops its sources from inside record().
TEST(Source, MayBeStoppedFromInsideACallback) {
  InProcess([] {
    ASSERT_EQ(g_source->start(0), 0);
    Recorder().OnRecord([](const SourceEvent&) { g_source->stop(); });
    CopySomething();
    EXPECT_EQ(g_cupti->unsubscribe_calls, 1);
    EXPECT_EQ(LastState().state, cupti::kSourceOff);
    Recorder().OnRecord([](const SourceEvent&) { EXPECT_NE(g_source->start(0), 0); });
    Recorder().OnRecord(nullptr);
    EXPECT_EQ(g_source->start(0), 0);
  });
}

TEST(Source, MayBeStoppedWhileItStarts) {
  InProcess([] {
    g_cupti->in_subscribe = [] { g_source->stop(); };
    EXPECT_NE(g_source->start(0), 0);
    EXPECT_EQ(g_cupti->unsubscribe_calls, 1);
    CopySomething();
    EXPECT_TRUE(Recorder().Events().empty());
  });
}

TEST(Source, ThreadsMayStartAndStopAtOnce) {
  InProcess([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < 200; ++i) {
          if ((i + t) % 2 == 0) {
            g_source->start(i % 3 == 0 ? 1 : 0);
          } else {
            g_source->stop();
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    g_source->stop();
    // Whatever the order was: as many subscriptions given back as taken.
    EXPECT_EQ(g_cupti->subscribe_v2_calls, g_cupti->unsubscribe_calls);
    EXPECT_EQ(g_source->start(0), 0);
    CopySomething();
    EXPECT_EQ(Recorder().Events(kOpMemcpy).size(), 1u);
  });
}

TEST(Source, NoticesThatCuptiWasFinalisedByAnother) {
  InProcess([] {
    ASSERT_EQ(g_source->start(0), 0);
    g_deliver_heartbeats = false;
    // Its handle is stale now and must not be used; a start subscribes anew.
    g_cupti->in_subscribe = [] { g_deliver_heartbeats = true; };
    ASSERT_EQ(g_source->start(0), 0);
    EXPECT_EQ(g_cupti->unsubscribe_calls, 0);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 2);
    const auto states = Recorder().States();
    ASSERT_EQ(states.size(), 3u);
    EXPECT_EQ(states[1].state, cupti::kSourceLost);
    EXPECT_EQ(states[2].state, cupti::kSourceOn);
    g_deliver_heartbeats = false;
    g_source->stop();
    EXPECT_EQ(g_cupti->unsubscribe_calls, 0);
  });
}

TEST(Source, WithoutHeartbeatsItTrustsItsSubscription) {
  InProcess([] {
    g_deliver_heartbeats = false;
    ASSERT_EQ(g_source->start(0), 0);
    ASSERT_EQ(g_source->start(0), 0);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 1);
    g_source->stop();
    EXPECT_EQ(g_cupti->unsubscribe_calls, 1);
  });
}

TEST(Source, SaysThatCuptiGaveUp) {
  InProcess([] {
    ASSERT_EQ(g_source->start(0), 0);
    const cupti::StateNotification state = {CUPTI_ERROR_HARDWARE, "it broke"};
    Deliver(cupti::kDomainState, cupti::kStateFatalError, &state);
    EXPECT_EQ(LastState().state, cupti::kSourceLost);
    EXPECT_NE(LastState().detail.find("error 9: it broke"), std::string::npos)
        << LastState().detail;
    CopySomething();
    EXPECT_TRUE(Recorder().Events().empty());
    g_source->stop();
    EXPECT_EQ(g_cupti->unsubscribe_calls, 0) << "CUPTI finalised itself";
    EXPECT_EQ(LastState().state, cupti::kSourceLost);
    ASSERT_EQ(g_source->start(0), 0);
    CopySomething();
    EXPECT_EQ(Recorder().Events(kOpMemcpy).size(), 1u);
  });
}

TEST(Source, ReportsContextsAndModules) {
  InProcess([] {
    ASSERT_EQ(g_source->start(0), 0);
    CUpti_ResourceData data{};
    data.context = reinterpret_cast<CUcontext>(0xc002);
    Deliver(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, &data);
    CUpti_ModuleResourceData module = {77, 5000, nullptr};
    data.resourceDescriptor = &module;
    Deliver(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, &data);
    Deliver(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, &data);
    data.resourceDescriptor = nullptr;
    Deliver(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, &data);
    Deliver(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_STREAM_CREATED, &data);
    const auto events = Recorder().Events();
    ASSERT_EQ(events.size(), 4u);
    const std::uint32_t ops[] = {kOpContextCreate, kOpModuleLoad, kOpModuleUnload,
                                 kOpContextDestroy};
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(events[i].op, ops[i]);
      EXPECT_EQ(events[i].context, 0xc002u);
      EXPECT_EQ(events[i].device, 2);
    }
    EXPECT_EQ(events[1].address, 77u);
    EXPECT_EQ(events[1].bytes, 5000u);
    EXPECT_EQ(events[2].address, 77u);
    Recorder().SetInsideHook(true);  // the hooks report this one
    Deliver(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, &data);
    EXPECT_EQ(Recorder().Events().size(), 4u);
  });
}

TEST(Source, AChildOfForkLeavesCuptiAlone) {
  InProcess([] {
    ASSERT_EQ(g_source->start(0), 0);
    const pid_t child = fork();
    if (child == 0) {
      CopySomething();
      const bool silent = Recorder().Events().empty();
      const bool refused = g_source->start(0) != 0 && LastState().state == cupti::kSourceRefused;
      g_source->stop();
      _exit(silent && refused && g_cupti->subscribe_v2_calls == 1 && g_cupti->unsubscribe_calls == 0
                ? 0
                : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    CopySomething();
    EXPECT_EQ(Recorder().Events(kOpMemcpy).size(), 1u) << "the parent goes on";
  });
}

TEST(Source, AChildOfForkMayStartIfTheParentHadNot) {
  InProcess([] {
    ASSERT_EQ(g_source->start(0), 0);
    g_source->stop();
    const pid_t child = fork();
    if (child == 0) _exit(g_source->start(0) == 0 ? 0 : 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  });
}

// Exit handlers run in the reverse order of registration: one from before the source sees it after
// its own.
TEST(Source, TouchesNothingOfCuptiAtTheEndOfTheProcess) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    std::atexit([] {
      CopySomething();  // a destructor of the program frees what it has
      const bool recorded = Recorder().Events(kOpMemcpy).size() == 1;
      g_deliver_heartbeats = false;
      g_source->stop();
      const bool untouched = g_cupti->unsubscribe_calls == 0;
      const bool refused = g_source->start(0) != 0;
      _exit(recorded && untouched && refused ? 0 : 1);
    });
    Open();
    if (testing::Test::HasFailure() || g_source->start(0) != 0) _exit(2);
    std::exit(3);  // the handler decides
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace memprof::cupti_test
