// A source that loses CUPTI to other tools, and subscribes again.
#include <string>

#include "cupti_hooks/src/cupti_state.h"
#include "proto/anomalies.h"
#include "tests/cupti/source_process.h"

namespace memprof::cupti_test {
namespace {

TEST(Source, NoticesThatCuptiWasFinalisedByAnother) {
  WithSource([] {
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
    g_deliver_heartbeats = false;
    // The old handle is invalid and must not be used; a start subscribes again.
    g_cupti->in_subscribe = [] { g_deliver_heartbeats = true; };
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
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
    ASSERT_EQ(g_source->start(SourceScope::kEverything), 0);
    CheckSeveralTimes(5);
    EXPECT_EQ(Recorder().States().size(), 1u);
    g_deliver_heartbeats = false;
    g_cupti->in_subscribe = [] { g_deliver_heartbeats = true; };
    // After one check without a heartbeat, a cuptiFinalize may still be running.
    g_source->check();
    EXPECT_EQ(Recorder().States().size(), 1u);
    g_source->check();
    EXPECT_EQ(LastState().state, kSourceLost);
    EXPECT_EQ(Recorder().Anomalies(kCuptiLost), 1u);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 1) << "not immediately";
    CopySomething();
    EXPECT_TRUE(Recorder().Events(kOpMemcpy).empty());
    g_source->check();
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 2);
    EXPECT_EQ(g_cupti->unsubscribe_calls, 0) << "the handle was invalid";
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
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
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
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
    g_deliver_heartbeats = false;
    g_cupti->subscribe_v2_result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    g_cupti->other_subscriber = "CUPTI for another";
    CheckSeveralTimes(6);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 5);
    ASSERT_EQ(Recorder().States().size(), 3u) << "the reason for its absence is reported once";
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
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
    g_deliver_heartbeats = false;
    CheckSeveralTimes(2);
    g_source->stop();
    g_deliver_heartbeats = true;
    CheckSeveralTimes(3);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 1);
    // A new start subscribes again.
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
    EXPECT_EQ(LastState().state, kSourceOn);
    // A loss that is detected at the stop is counted too.
    g_deliver_heartbeats = false;
    g_source->stop();
    EXPECT_EQ(Recorder().Anomalies(kCuptiLost), 2u);
    EXPECT_NE(LastState().detail.find("lost"), std::string::npos);
  });
}

TEST(Source, LeavesCuptiToWhoeverTakesItAwayTimeAndAgain) {
  WithSource([] {
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
    g_cupti->in_subscribe = [] { g_deliver_heartbeats = true; };
    for (int i = 0; i < 30; ++i) {
      g_deliver_heartbeats = false;
      CheckSeveralTimes(3);
    }
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 9) << "the first, and eight more";
    EXPECT_EQ(Recorder().Anomalies(kCuptiLost), 9u);
    EXPECT_NE(LastState().detail.find("too often"), std::string::npos);
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0) << "resuming starts again";
    g_deliver_heartbeats = false;
    CheckSeveralTimes(3);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 11) << "so does the count";
  });
}

TEST(Source, AFatalErrorIsALossAsWell) {
  WithSource([] {
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
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
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
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
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
    CheckSeveralTimes(5);
    EXPECT_EQ(g_cupti->subscribe_v2_calls, 1);
    g_source->stop();
    EXPECT_EQ(g_cupti->unsubscribe_calls, 1);
  });
}

TEST(Source, SaysThatCuptiGaveUp) {
  WithSource([] {
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
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
    ASSERT_EQ(g_source->start(SourceScope::kUses), 0);
    CopySomething();
    EXPECT_EQ(Recorder().Events(kOpMemcpy).size(), 1u);
  });
}

}  // namespace
}  // namespace memprof::cupti_test
