// Places within steps: by events, within named ranges, and in another step.
#include "viewer/models/step_phase.h"

#include <gtest/gtest.h>

#include "analysis/testing/log_builder.h"
#include "tests/support/load_log.h"

namespace memprof::viewer {
namespace {

using analysis::Layer;
using analysis::Session;
using analysis::TimeNs;
using analysis::testing::LoadLog;
using analysis::testing::LogBuilder;

// A step allocates in "forward" and frees the same in "backward", at its own speed.
struct Shape {
  int forward = 4;
  int temporary = 0;        // allocated and freed at the begin of "forward"
  std::uint64_t pause = 0;  // before each event, in ns
};

std::shared_ptr<const Session> Steps(const std::vector<Shape>& steps, bool ranges = true) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x100, 64);
  for (std::size_t step = 0; step < steps.size(); ++step) {
    log.AdvanceTime(1000);
    log.Step(step);
    for (const bool forward : {true, false}) {
      if (ranges) log.RangePush(forward ? "forward" : "backward");
      for (int i = 0; forward && i < steps[step].temporary; ++i) {
        log.Alloc(Layer::kLinear, 0x900000, 256);
        log.Free(0x900000);
      }
      for (int i = 0; i < steps[step].forward; ++i) {
        log.AdvanceTime(steps[step].pause);
        const std::uint64_t address = 0x10000 + 0x1000 * static_cast<std::uint64_t>(i);
        forward ? log.Alloc(Layer::kLinear, address, 256) : log.Free(address);
      }
      if (ranges) log.RangePop();
    }
  }
  log.AdvanceTime(1000);
  log.Step(steps.size());
  return LoadLog(log);
}

// "4 live, 50 % forward" of an instant: the allocations of the step that are live there.
std::string Where(const Session& session, TimeNs time) {
  const auto place = PlaceInStep(session, time);
  if (!place) return "in no step";
  return std::to_string(session.LiveAt(time).size() - 1) + " live, " +
         std::to_string(std::lround(100 * place->share)) + " % " + place->phase.toStdString();
}

TEST(StepPhase, InAStepOfAnotherSpeed) {
  const auto session = Steps({{}, {}, {.pause = 70'000}, {}}, false);
  const auto steps = session->steps();
  for (TimeNs time = steps[1].begin; time < steps[1].end; time += 500) {
    const auto same = SamePlaceIn(*session, time, 2);
    ASSERT_TRUE(same);
    EXPECT_GE(*same, steps[2].begin);
    EXPECT_LE(*same, steps[2].end);
    EXPECT_EQ(Where(*session, *same), Where(*session, time));
  }
}

// By events of the whole step, the begin of "backward" would be compared with the middle of a
// "forward" that has more events.
TEST(StepPhase, WithinTheRangeOfTheSameName) {
  const auto session = Steps({{}, {}, {.forward = 8, .temporary = 9, .pause = 300}, {}});
  const auto steps = session->steps();
  TimeNs backward = 0;
  for (const analysis::RangeInfo& range : session->ranges())
    if (session->string(range.name) == "backward" && range.begin > steps[1].begin &&
        range.end <= steps[1].end)
      backward = range.begin;
  ASSERT_GT(backward, 0);
  const auto same = SamePlaceIn(*session, backward, 2);
  ASSERT_TRUE(same);
  EXPECT_EQ(PlaceInStep(*session, *same)->phase, QStringLiteral("backward"));
  EXPECT_EQ(session->LiveAt(*same).size() - 1, 8u) << "at the begin of its backward";
  EXPECT_EQ(SamePlaceIn(*session, *same, 1), backward) << "and back";
}

TEST(StepPhase, OutsideOfSteps) {
  const auto session = Steps({{}, {}, {}});
  const TimeNs before = session->steps()[0].begin - 1;
  EXPECT_EQ(Where(*session, before), "in no step");
  EXPECT_FALSE(SamePlaceIn(*session, before, 1));
  EXPECT_FALSE(SamePlaceIn(*session, session->steps()[0].begin, 99));
  LogBuilder empty;
  EXPECT_FALSE(PlaceInStep(*LoadLog(empty), 0));
}

TEST(StepPhase, TheCommonPlaceInWords) {
  const auto session = Steps({{}, {}, {}, {}});
  const auto steps = session->steps();
  const TimeNs middle = steps[1].begin + (steps[1].end - steps[1].begin) / 4;
  const TimeNs same = *SamePlaceIn(*session, middle, 2);
  const QString text = CommonPlace(*session, middle, same);
  EXPECT_TRUE(text.endsWith(QStringLiteral(" % of their step (forward)"))) << text.toStdString();
  EXPECT_EQ(CommonPlace(*session, middle, middle), QString()) << "one step";
  EXPECT_TRUE(CommonPlace(*session, steps[1].end - 1, middle + steps[2].begin - steps[1].begin)
                  .startsWith(QStringLiteral("about ")));
  EXPECT_EQ(CommonPlace(*session, middle, steps[0].begin - 1), QString());
}

}  // namespace
}  // namespace memprof::viewer
