// Finding a libcupti and subscribing: all kinds of CUPTI, and refused subscriptions.
#include <string>

#include "cupti_hooks/src/call.h"
#include "cupti_hooks/src/callback_table.h"
#include "cupti_hooks/src/cupti_state.h"
#include "tests/cupti/source_process.h"
#include "tests/support/paths.h"

namespace memprof::cupti_test {
namespace {

using cupti::Group;
#define COUNT_ROW(name, cbid, group, ...) +1
constexpr unsigned kRows = 0 MEMPROF_CUPTI_CALLBACKS(COUNT_ROW);
#undef COUNT_ROW
// The rows that only a source of memory events needs.
#define COUNT_ROW(name, cbid, group, ...) \
  +(Group::group == Group::kMemory || Group::group == Group::kContext)
constexpr unsigned kMemoryRows = 0 MEMPROF_CUPTI_CALLBACKS(COUNT_ROW);
#undef COUNT_ROW
// The rows that a source of nothing but allocations does without.
#define COUNT_ROW(name, cbid, group, ...) \
  +(Group::group == Group::kUse || Group::group == Group::kKernel)
constexpr unsigned kUseRows = 0 MEMPROF_CUPTI_CALLBACKS(COUNT_ROW);
#undef COUNT_ROW
constexpr unsigned kKnownTo118 = 677;
#define COUNT_ROW(name, cbid, group, ...) +(cbid >= kKnownTo118)
constexpr unsigned kLaterRows = 0 MEMPROF_CUPTI_CALLBACKS(COUNT_ROW);
#undef COUNT_ROW

TEST(Source, RefusesARecorderOfAnotherVersion) {
  void* library = dlopen(paths::kSourceLibrary, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto open = reinterpret_cast<SourceOpenFunction>(dlsym(library, kSourceOpenSymbol));
  ASSERT_NE(open, nullptr);
  RecorderApi other = *Recorder().api();
  other.version = kSourceApiVersion + 1;
  EXPECT_EQ(open(&other), nullptr);
  EXPECT_EQ(open(nullptr), nullptr);
}

TEST(Source, EnablesSingleCallbacksAndNeverADomain) {
  WithSource([] {
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
    EXPECT_EQ(EnabledCallbacks(), kRows - kMemoryRows);
    EXPECT_EQ(g_cupti->driver_on[kMemPoolCreate], 0);
    EXPECT_EQ(g_cupti->driver_on[kMemAllocV2], 1);
    EXPECT_EQ(g_cupti->resource_on[CUPTI_CBID_RESOURCE_CONTEXT_CREATED], 1);
    EXPECT_EQ(g_cupti->resource_on[CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING], 1);
    EXPECT_EQ(g_cupti->resource_on[CUPTI_CBID_RESOURCE_STREAM_CREATED], 0);
    EXPECT_EQ(g_cupti->state_on[cupti::kStateFatalError], 1);
    EXPECT_EQ(g_cupti->domains_enabled, 0);
    EXPECT_EQ(LastState().state, kSourceOn);
    EXPECT_NE(LastState().detail.find("CUPTI 13.0"), std::string::npos) << LastState().detail;
  });
}

TEST(Source, IsNotCalledForLaunchesAndCopiesWhenOnlyAllocationsAreWanted) {
  WithSource([] {
    ASSERT_EQ(g_source->start(SourceScope::kAllocations), 0);
    EXPECT_EQ(EnabledCallbacks(), kRows - kUseRows);
    EXPECT_EQ(g_cupti->driver_on[kLaunchKernel], 0);
    EXPECT_EQ(g_cupti->driver_on[kMemAllocV2], 1);
    EXPECT_EQ(g_cupti->driver_on[kMemPoolCreate], 1);
    ASSERT_EQ(g_source->start(SourceScope::kEverything), 0);
    EXPECT_EQ(EnabledCallbacks(), kRows);
  });
}

TEST(Source, TakesPoolsTooWhenAllocationsAreItsTask) {
  WithSource([] {
    ASSERT_EQ(g_source->start(SourceScope::kEverything), 0);
    EXPECT_EQ(EnabledCallbacks(), kRows);
    EXPECT_NE(LastState().detail.find("allocations"), std::string::npos) << LastState().detail;
  });
}

TEST(Source, SkipsWhatAnOlderCuptiDoesNotKnow) {
  WithSource([] {
    g_cupti->version = 18;  // CUDA 11.8
    g_cupti->known_cbids = kKnownTo118;
    ASSERT_EQ(g_source->start(SourceScope::kEverything), 0);
    EXPECT_EQ(EnabledCallbacks(), kRows - kLaterRows);
    EXPECT_NE(LastState().detail.find(std::to_string(kLaterRows) + " not known"), std::string::npos)
        << LastState().detail;
  });
}

// If an id ever means another function, its parameters would be misread.
TEST(Source, SkipsAnIdThatMeansAnotherFunction) {
  WithSource([] {
    g_cupti->renamed_cbid = kMemAllocV2;
    ASSERT_EQ(g_source->start(SourceScope::kEverything), 0);
    EXPECT_EQ(g_cupti->driver_on[kMemAllocV2], 0);
    EXPECT_EQ(EnabledCallbacks(), kRows - 1);
  });
}

TEST(Source, SubscribesBesideOthersWhereCuptiCan) {
  WithSource([] {
    g_cupti->version = 130200;
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
    EXPECT_EQ(g_cupti->multiple_calls, 1);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 0);
    EXPECT_EQ(g_cupti->struct_size, 33u);
  });
  WithSource([] {
    g_cupti->version = 130001;
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
    EXPECT_EQ(g_cupti->multiple_calls, 0);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 1);
    EXPECT_EQ(g_cupti->struct_size, 32u);
  });
}

TEST(Source, FallsBackToPlainerWaysOfSubscribing) {
  WithSource([] {
    g_cupti->version = 130300;
    g_cupti->multiple_result = CUPTI_ERROR_NOT_SUPPORTED;
    g_cupti->subscribe_v2_result = CUPTI_ERROR_INVALID_PARAMETER;
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
    EXPECT_EQ(g_cupti->multiple_calls, 1);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 1);
    EXPECT_EQ(g_cupti->subscribe_calls, 1);
  });
}

TEST(Source, NamesTheSubscriberThatIsInItsWay) {
  WithSource([] {
    g_cupti->subscribe_v2_result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    g_cupti->other_subscriber = "CUPTI for kineto";
    EXPECT_NE(g_source->start(SourceScope::kUses), 0);
    EXPECT_EQ(LastState().state, kSourceRefused);
    EXPECT_NE(LastState().detail.find("CUPTI for kineto"), std::string::npos) << LastState().detail;
    EXPECT_NE(LastState().detail.find("39"), std::string::npos) << LastState().detail;
    EXPECT_EQ(Recorder().States().size(), 1u);
    EXPECT_EQ(g_cupti->subscribe_calls, 0) << "a second attempt would not help";
    EXPECT_EQ(EnabledCallbacks(), 0u);
    g_source->stop();
    EXPECT_EQ(g_cupti->unsubscribe_calls, 0);
    g_cupti->subscribe_v2_result = 0;  // the other subscriber has ended
    EXPECT_EQ(g_source->start(SourceScope::kUses), 0);
    EXPECT_EQ(LastState().state, kSourceOn);
  });
}

TEST(Source, SaysWhyOfOtherFailures) {
  WithSource([] {
    g_cupti->subscribe_v2_result = CUPTI_ERROR_UNKNOWN;
    EXPECT_NE(g_source->start(SourceScope::kUses), 0);
    EXPECT_EQ(LastState().state, kSourceRefused);
    EXPECT_NE(LastState().detail.find("error 999, CUPTI_ERROR_TEST"), std::string::npos)
        << LastState().detail;
    g_cupti->subscribe_v2_result = 0;
    g_cupti->enable_result = CUPTI_ERROR_NOT_INITIALIZED;
    EXPECT_NE(g_source->start(SourceScope::kUses), 0);
    EXPECT_EQ(g_cupti->unsubscribe_calls, 1) << "the subscription is ended";
    EXPECT_EQ(LastState().state, kSourceRefused);
  });
  WithSource([] {
    setenv("MEMPROF_CUPTI_LIBRARY", "/nonexistent/libcupti.so.13", 1);
    EXPECT_NE(g_source->start(SourceScope::kUses), 0);
    EXPECT_NE(LastState().detail.find("/nonexistent/libcupti.so.13"), std::string::npos)
        << LastState().detail;
  });
  WithSource([] {
    setenv("MEMPROF_CUPTI_LIBRARY", paths::kSourceLibrary, 1);  // a library, but not this one
    EXPECT_NE(g_source->start(SourceScope::kUses), 0);
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
    EXPECT_EQ(
        system(("mkdir -p " + directory + " && cp " + paths::kFakeCupti + " " + path_).c_str()), 0);
  }
  ~CopiedCupti() { EXPECT_EQ(system(("rm -r " + home_).c_str()), 0); }
  const std::string& home() const { return home_; }
  const std::string& path() const { return path_; }

 private:
  std::string home_;
  std::string path_;
};

TEST(Source, UsesTheLibcuptiThatIsMapped) {
  WithSource([] {
    const CopiedCupti copy("lib", "libcupti.so.12");
    void* mapped = dlopen(copy.path().c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(mapped, nullptr) << dlerror();
    g_cupti = reinterpret_cast<FakeCuptiControls* (*)()>(dlsym(mapped, "fake_cupti_controls"))();
    unsetenv("MEMPROF_CUPTI_LIBRARY");
    EXPECT_EQ(g_source->start(SourceScope::kUses), 0);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 1);
    EXPECT_NE(LastState().detail.find(copy.path()), std::string::npos) << LastState().detail;
  });
}

int OldDriverGetVersion(int* version) { return *version = 11060, 0; }

// A libcupti on the loader's path may be newer than the driver supports.
TEST(Source, FindsTheLibcuptiOfTheDriversVersionInCudaHome) {
  WithSource([] {
    const CopiedCupti copy("extras/CUPTI/lib64", "libcupti.so.11.6");
    Recorder().SetDriverFunction("cuDriverGetVersion",
                                 reinterpret_cast<void*>(&OldDriverGetVersion));
    unsetenv("MEMPROF_CUPTI_LIBRARY");
    setenv("CUDA_HOME", copy.home().c_str(), 1);
    EXPECT_EQ(g_source->start(SourceScope::kUses), 0);
    EXPECT_NE(LastState().detail.find(copy.path()), std::string::npos) << LastState().detail;
  });
}

// The directories of pip packages: nvidia/cuda_runtime/lib beside nvidia/cuda_cupti/lib.
TEST(Source, FindsTheLibcuptiBesideTheRuntime) {
  WithSource([] {
    const CopiedCupti copy("cuda_cupti/lib", "libcupti.so.12");
    const std::string runtime = copy.home() + "/cuda_runtime/lib/libcudart.so.12";
    ASSERT_EQ(system(("mkdir -p " + copy.home() + "/cuda_runtime/lib && cp " + paths::kFakeCupti +
                      " " + runtime)
                         .c_str()),
              0);
    ASSERT_NE(dlopen(runtime.c_str(), RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
    unsetenv("MEMPROF_CUPTI_LIBRARY");
    EXPECT_EQ(g_source->start(SourceScope::kUses), 0);
    EXPECT_NE(LastState().detail.find("cuda_cupti/lib"), std::string::npos) << LastState().detail;
    EXPECT_NE(LastState().detail.find(copy.home()), std::string::npos) << LastState().detail;
  });
}

}  // namespace
}  // namespace memprof::cupti_test
