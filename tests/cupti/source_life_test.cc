// The life of a subscription: stopping, being thrown out, forking, ending.
#include <string>
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
    ASSERT_EQ(g_source->start(0), 0);
    CopySomething();
    EXPECT_EQ(Recorder().Events(kOpMemcpy).size(), 1u);
    g_source->stop();
    g_source->stop();
    EXPECT_EQ(g_cupti->unsubscribe_calls, 1);
    EXPECT_EQ(LastState().state, kSourceOff);
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
  WithSource([] {
    ASSERT_EQ(g_source->start(0), 0);
    CUdeviceptr address = 0x7f0000000000;
    const cuMemAlloc_v2_params params = {&address, 4096};
    Call(kMemAllocV2, &params);
    EXPECT_TRUE(Recorder().Events().empty());
    ASSERT_EQ(g_source->start(1), 0);
    EXPECT_EQ(g_cupti->driver_on[kMemPoolCreate], 1);
    Call(kMemAllocV2, &params);
    EXPECT_EQ(Recorder().Events().size(), 2u) << "its entry and its exit";
    ASSERT_EQ(g_source->start(0), 0);
    EXPECT_EQ(g_cupti->driver_on[kMemPoolCreate], 0);
    Call(kMemAllocV2, &params);
    EXPECT_EQ(Recorder().Events().size(), 2u);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 1);
  });
}

// A recorder that runs into trouble stops its sources from inside record().
TEST(Source, MayBeStoppedFromInsideACallback) {
  WithSource([] {
    ASSERT_EQ(g_source->start(0), 0);
    Recorder().OnRecord([](const SourceEvent&) { g_source->stop(); });
    CopySomething();
    EXPECT_EQ(g_cupti->unsubscribe_calls, 1);
    EXPECT_EQ(LastState().state, kSourceOff);
    Recorder().OnRecord([](const SourceEvent&) { EXPECT_NE(g_source->start(0), 0); });
    Recorder().OnRecord(nullptr);
    EXPECT_EQ(g_source->start(0), 0);
  });
}

TEST(Source, MayBeStoppedWhileItStarts) {
  WithSource([] {
    g_cupti->in_subscribe = [] { g_source->stop(); };
    EXPECT_NE(g_source->start(0), 0);
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
  WithSource([] {
    ASSERT_EQ(g_source->start(0), 0);
    g_deliver_heartbeats = false;
    // Its handle is stale now and must not be used; a start subscribes anew.
    g_cupti->in_subscribe = [] { g_deliver_heartbeats = true; };
    ASSERT_EQ(g_source->start(0), 0);
    EXPECT_EQ(g_cupti->unsubscribe_calls, 0);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 2);
    const auto states = Recorder().States();
    ASSERT_EQ(states.size(), 3u);
    EXPECT_EQ(states[1].state, kSourceLost);
    EXPECT_EQ(states[2].state, kSourceOn);
    g_deliver_heartbeats = false;
    g_source->stop();
    EXPECT_EQ(g_cupti->unsubscribe_calls, 0);
  });
}

constexpr int kCuptiLost = static_cast<int>(log::Anomaly::kCuptiLost);

void CheckSeveralTimes(int times) {
  for (int i = 0; i < times; ++i) g_source->check();
}

TEST(Source, TakesALostSubscriptionUpAgainWhileItRuns) {
  WithSource([] {
    g_source->check();  // before the first start: nothing
    ASSERT_EQ(g_source->start(1), 0);
    CheckSeveralTimes(5);
    EXPECT_EQ(Recorder().States().size(), 1u);
    g_deliver_heartbeats = false;
    g_cupti->in_subscribe = [] { g_deliver_heartbeats = true; };
    // One silent look may be a cuptiFinalize that is under way.
    g_source->check();
    EXPECT_EQ(Recorder().States().size(), 1u);
    g_source->check();
    EXPECT_EQ(LastState().state, kSourceLost);
    EXPECT_EQ(Recorder().Anomalies(kCuptiLost), 1u);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 1) << "not at once";
    CopySomething();
    EXPECT_TRUE(Recorder().Events(kOpMemcpy).empty());
    g_source->check();
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 2);
    EXPECT_EQ(g_cupti->unsubscribe_calls, 0) << "the handle was stale";
    EXPECT_EQ(LastState().state, kSourceOn);
    EXPECT_NE(LastState().detail.find("allocations among them"), std::string::npos);
    CopySomething();
    EXPECT_EQ(Recorder().Events(kOpMemcpy).size(), 1u);
    CheckSeveralTimes(5);
    EXPECT_EQ(Recorder().States().size(), 3u);
    g_source->stop();
    EXPECT_EQ(g_cupti->unsubscribe_calls, 1);
    EXPECT_EQ(Recorder().Anomalies(kCuptiLost), 1u);
  });
}

TEST(Source, ASilenceThatEndsIsNoLoss) {
  WithSource([] {
    ASSERT_EQ(g_source->start(0), 0);
    for (int i = 0; i < 3; ++i) {
      g_deliver_heartbeats = false;
      g_source->check();
      g_deliver_heartbeats = true;
      g_source->check();
    }
    EXPECT_EQ(Recorder().States().size(), 1u);
    EXPECT_EQ(Recorder().Anomalies(kCuptiLost), 0u);
  });
}

TEST(Source, WaitsForItsTurnAfterALoss) {
  WithSource([] {
    ASSERT_EQ(g_source->start(0), 0);
    g_deliver_heartbeats = false;
    g_cupti->subscribe_v2_result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    g_cupti->other_subscriber = "CUPTI for another";
    CheckSeveralTimes(6);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 5);
    ASSERT_EQ(Recorder().States().size(), 3u) << "why it does not come is said once";
    EXPECT_EQ(LastState().state, kSourceLost);
    EXPECT_NE(LastState().detail.find("CUPTI for another"), std::string::npos);
    g_cupti->subscribe_v2_result = 0;
    g_deliver_heartbeats = true;
    g_source->check();
    EXPECT_EQ(LastState().state, kSourceOn);
    CopySomething();
    EXPECT_EQ(Recorder().Events(kOpMemcpy).size(), 1u);
  });
}

TEST(Source, StoppedItTakesNothingUpAgain) {
  WithSource([] {
    ASSERT_EQ(g_source->start(0), 0);
    g_deliver_heartbeats = false;
    CheckSeveralTimes(2);
    g_source->stop();
    g_deliver_heartbeats = true;
    CheckSeveralTimes(3);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 1);
    // A new start does, as if nothing had been.
    ASSERT_EQ(g_source->start(0), 0);
    EXPECT_EQ(LastState().state, kSourceOn);
    // A loss that the stop notices is counted too.
    g_deliver_heartbeats = false;
    g_source->stop();
    EXPECT_EQ(Recorder().Anomalies(kCuptiLost), 2u);
    EXPECT_NE(LastState().detail.find("lost"), std::string::npos);
  });
}

TEST(Source, LeavesCuptiToWhoeverTakesItAwayTimeAndAgain) {
  WithSource([] {
    ASSERT_EQ(g_source->start(0), 0);
    g_cupti->in_subscribe = [] { g_deliver_heartbeats = true; };
    for (int i = 0; i < 30; ++i) {
      g_deliver_heartbeats = false;
      CheckSeveralTimes(3);
    }
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 9) << "the first, and eight more";
    EXPECT_EQ(Recorder().Anomalies(kCuptiLost), 9u);
    EXPECT_NE(LastState().detail.find("too often"), std::string::npos);
    ASSERT_EQ(g_source->start(0), 0) << "resuming begins anew";
    g_deliver_heartbeats = false;
    CheckSeveralTimes(3);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 11) << "so does the count";
  });
}

TEST(Source, AFatalErrorIsALossAsWell) {
  WithSource([] {
    ASSERT_EQ(g_source->start(0), 0);
    const cupti::StateNotification state = {CUPTI_ERROR_HARDWARE, "it broke"};
    Deliver(cupti::kDomainState, cupti::kStateFatalError, &state);
    EXPECT_EQ(Recorder().Anomalies(kCuptiLost), 1u);
    CheckSeveralTimes(3);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 2);
    EXPECT_EQ(LastState().state, kSourceOn);
    EXPECT_EQ(Recorder().States().size(), 3u);
    EXPECT_EQ(Recorder().Anomalies(kCuptiLost), 1u);
  });
}

TEST(Source, AChildOfForkTakesNothingUpAgain) {
  WithSource([] {
    ASSERT_EQ(g_source->start(0), 0);
    g_deliver_heartbeats = false;
    CheckSeveralTimes(2);
    const pid_t child = fork();
    if (child == 0) {
      CheckSeveralTimes(3);
      _exit(g_cupti->subscribe_v2_calls == 1 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  });
}

TEST(Source, WithoutHeartbeatsItTrustsItsSubscription) {
  WithSource([] {
    g_deliver_heartbeats = false;
    ASSERT_EQ(g_source->start(0), 0);
    ASSERT_EQ(g_source->start(0), 0);
    CheckSeveralTimes(5);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 1);
    g_source->stop();
    EXPECT_EQ(g_cupti->unsubscribe_calls, 1);
  });
}

TEST(Source, SaysThatCuptiGaveUp) {
  WithSource([] {
    ASSERT_EQ(g_source->start(0), 0);
    const cupti::StateNotification state = {CUPTI_ERROR_HARDWARE, "it broke"};
    Deliver(cupti::kDomainState, cupti::kStateFatalError, &state);
    EXPECT_EQ(LastState().state, kSourceLost);
    EXPECT_NE(LastState().detail.find("error 9: it broke"), std::string::npos)
        << LastState().detail;
    CopySomething();
    EXPECT_TRUE(Recorder().Events().empty());
    g_source->stop();
    EXPECT_EQ(g_cupti->unsubscribe_calls, 0) << "CUPTI finalised itself";
    EXPECT_EQ(LastState().state, kSourceLost);
    ASSERT_EQ(g_source->start(0), 0);
    CopySomething();
    EXPECT_EQ(Recorder().Events(kOpMemcpy).size(), 1u);
  });
}

TEST(Source, ReportsContextsAndModules) {
  WithSource([] {
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
  WithSource([] {
    ASSERT_EQ(g_source->start(0), 0);
    const pid_t child = fork();
    if (child == 0) {
      CopySomething();
      const bool silent = Recorder().Events().empty();
      const bool refused = g_source->start(0) != 0 && LastState().state == kSourceRefused;
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
  WithSource([] {
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
