// When the source listens: after start, stop and restart, in child processes and at the end of the
// process.
#include <thread>
#include <vector>

#include "cupti_hooks/src/cupti_state.h"
#include "proto/anomalies.h"
#include "tests/cupti/source_process.h"

namespace memprof::cupti_test {
namespace {

TEST(Source, StopsAndStartsAgain) {
  WithSource([] {
    g_source->stop();  // before the first start: nothing
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
    CopySomething();
    EXPECT_EQ(Recorder().Events(kOpMemcpy).size(), 1u);
    g_source->stop();
    g_source->stop();
    EXPECT_EQ(g_cupti->unsubscribe_calls, 1);
    EXPECT_EQ(LastState().state, kSourceOff);
    CopySomething();  // a callback that was already running at the stop
    EXPECT_EQ(Recorder().Events(kOpMemcpy).size(), 1u);
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
    CopySomething();
    EXPECT_EQ(Recorder().Events(kOpMemcpy).size(), 2u);
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);  // already on
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 2);
  });
}

TEST(Source, ChangesItsTaskWithoutANewSubscription) {
  WithSource([] {
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
    CUdeviceptr address = 0x7f0000000000;
    const cuMemAlloc_v2_params params = {&address, 4096};
    Call(kMemAllocV2, &params);
    EXPECT_TRUE(Recorder().Events().empty());
    ASSERT_EQ(g_source->start(SourceScope::kEverything), 0);
    EXPECT_EQ(g_cupti->driver_on[kMemPoolCreate], 1);
    Call(kMemAllocV2, &params);
    EXPECT_EQ(Recorder().Events().size(), 2u) << "its entry and its exit";
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
    EXPECT_EQ(g_cupti->driver_on[kMemPoolCreate], 0);
    Call(kMemAllocV2, &params);
    EXPECT_EQ(Recorder().Events().size(), 2u);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 1);
  });
}

// After an error the recorder stops its sources from inside record().
TEST(Source, MayBeStoppedFromInsideACallback) {
  WithSource([] {
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
    Recorder().OnRecord([](const SourceEvent&) { g_source->stop(); });
    CopySomething();
    EXPECT_EQ(g_cupti->unsubscribe_calls, 1);
    EXPECT_EQ(LastState().state, kSourceOff);
    Recorder().OnRecord(
        [](const SourceEvent&) { EXPECT_NE(g_source->start(SourceScope::kUses), 0); });
    Recorder().OnRecord(nullptr);
    EXPECT_EQ(g_source->start(SourceScope::kUses), 0);
  });
}

TEST(Source, MayBeStoppedWhileItStarts) {
  WithSource([] {
    g_cupti->in_subscribe = [] { g_source->stop(); };
    EXPECT_NE(g_source->start(SourceScope::kUses), 0);
    EXPECT_EQ(g_cupti->unsubscribe_calls, 1);
    CopySomething();
    EXPECT_TRUE(Recorder().Events().empty());
  });
}

TEST(Source, ThreadsMayStartAndStopAtOnce) {
  WithSource([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < 200; ++i) {
          if (t == 3) {
            g_source->check();
          } else if ((i + t) % 2 == 0) {
            g_source->start(static_cast<SourceScope>(i % 3));
          } else {
            g_source->stop();
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    g_source->stop();
    // In any order of the calls, every subscription was ended.
    EXPECT_EQ(g_cupti->subscribe_v2_calls, g_cupti->unsubscribe_calls);
    EXPECT_EQ(g_source->start(SourceScope::kUses), 0);
    CopySomething();
    EXPECT_EQ(Recorder().Events(kOpMemcpy).size(), 1u);
  });
}

TEST(Source, ReportsContextsAndModules) {
  WithSource([] {
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
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
  WithSource([] {
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
    const pid_t child = fork();
    if (child == 0) {
      CopySomething();
      const bool silent = Recorder().Events().empty();
      const bool refused =
          g_source->start(SourceScope::kUses) != 0 && LastState().state == kSourceRefused;
      g_source->stop();
      _exit(silent && refused && g_cupti->subscribe_v2_calls == 1 && g_cupti->unsubscribe_calls == 0
                ? 0
                : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    CopySomething();
    EXPECT_EQ(Recorder().Events(kOpMemcpy).size(), 1u) << "the parent continues";
  });
}

TEST(Source, AChildOfForkMayStartIfTheParentHadNot) {
  WithSource([] {
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
    g_source->stop();
    const pid_t child = fork();
    if (child == 0) _exit(g_source->start(SourceScope::kUses) == 0 ? 0 : 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  });
}

// Exit handlers run in the reverse order of registration. A handler registered before the source's
// runs after it.
TEST(Source, TouchesNothingOfCuptiAtTheEndOfTheProcess) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    std::atexit([] {
      CopySomething();  // as a destructor of the program may call CUDA
      const bool recorded = Recorder().Events(kOpMemcpy).size() == 1;
      g_deliver_heartbeats = false;
      g_source->stop();
      const bool untouched = g_cupti->unsubscribe_calls == 0;
      const bool refused = g_source->start(SourceScope::kUses) != 0;
      _exit(recorded && untouched && refused ? 0 : 1);
    });
    Open();
    if (testing::Test::HasFailure() || g_source->start(SourceScope::kUses) != 0) _exit(2);
    std::exit(3);  // the handler sets the exit status
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace memprof::cupti_test
