// Which causes are told, and how often; and the command that is run for them.
#include "cli/watch/internal/alerts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "cli/console/text.h"
#include "tests/cli/cli_test_support.h"
#include "tests/support/read_file.h"

namespace memprof::cli::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::uint64_t kAlertSecond = 1'000'000'000;

// A program whose figures a test changes between readings, a second each.
class Trainee {
 public:
  explicit Trainee(std::uint64_t above = 0, std::int64_t after = 0) : rules_(above, after) {
    process.path = "a.mprof";
    process.pid = 7;
    process.devices.resize(1);
    process.devices[0].device = 0;
  }
  LiveProcess process;

  std::vector<std::string> Told() {
    LiveReading reading;
    process.judged += kAlertSecond;
    now_ += kAlertSecond;
    return Texts(now_);
  }
  // The same judgement once more.
  std::vector<std::string> ToldAgain() { return Texts(now_ += kAlertSecond / 10); }
  void Wait(std::uint64_t seconds) { now_ += seconds * kAlertSecond; }
  void Leaks(std::vector<std::string> sites, const std::string& tier = "suspected") {
    process.leaks.clear();
    for (std::string& site : sites)
      process.leaks.push_back({tier, 0, false, 1.0 * kMiB, 12 * kMiB, std::move(site)});
  }
  const std::vector<Alert>& alerts() const { return alerts_; }

 private:
  std::vector<std::string> Texts(std::uint64_t now) {
    LiveReading reading;
    reading.now_unix_ns = now;
    reading.processes = {process};
    alerts_ = rules_.Check(reading);
    std::vector<std::string> texts;
    for (const Alert& alert : alerts_) texts.push_back(Cat(alert.kind, ": ", alert.text));
    return texts;
  }

  AlertRules rules_;
  std::uint64_t now_ = 1'000 * kAlertSecond;
  std::vector<Alert> alerts_;
};

TEST(AlertRules, TellEachLeakOnce) {
  Trainee program;
  program.process.step = 12;
  program.process.rank = 3;
  EXPECT_THAT(program.Told(), IsEmpty());
  program.Leaks({"One (a.py:1)"});
  EXPECT_THAT(program.Told(),
              ElementsAre("leak: suspected leak on GPU 0: One (a.py:1) grows by 1.00 MiB a step, "
                          "12.0 MiB so far (process 7, rank 3, step 12)"));
  EXPECT_EQ(program.alerts()[0].site, "One (a.py:1)");
  EXPECT_EQ(program.alerts()[0].bytes, 12 * kMiB);
  program.Leaks({"One (a.py:1)", "Two (a.py:2)"});
  EXPECT_THAT(program.Told(), ElementsAre(HasSubstr("Two (a.py:2)")));
  program.Leaks({});
  EXPECT_THAT(program.Told(), IsEmpty());
  program.Leaks({"One (a.py:1)"});
  EXPECT_THAT(program.Told(), IsEmpty());
}

TEST(AlertRules, DoNotTellWhatGrowsAndIsInUse) {
  Trainee program;
  program.Leaks({"List (a.py:1)"}, "growing");
  EXPECT_THAT(program.Told(), IsEmpty());
}

TEST(AlertRules, WaitForSoManySteps) {
  Trainee program(0, 3);
  program.process.step = 20;
  program.Leaks({"One"});
  EXPECT_THAT(program.Told(), IsEmpty());
  program.process.step = 23;
  EXPECT_THAT(program.ToldAgain(), IsEmpty()) << "it was not judged again";
  program.Leaks({});
  EXPECT_THAT(program.Told(), IsEmpty());
  program.Leaks({"One"});
  EXPECT_THAT(program.Told(), IsEmpty()) << "it was not suspected all the time";
  program.process.step = 26;
  EXPECT_THAT(program.Told(), ElementsAre(HasSubstr("One")));
}

TEST(AlertRules, TellABudgetUntilLessIsUsed) {
  Trainee program(100 * kMiB);
  std::uint64_t& reserved = program.process.devices[0].reserved;
  reserved = 100 * kMiB;
  EXPECT_THAT(program.Told(), IsEmpty());
  reserved = 101 * kMiB;
  EXPECT_THAT(program.Told(), ElementsAre("budget: 101 MiB reserved on GPU 0, more than the budget "
                                          "of 100 MiB (process 7)"));
  for (const std::uint64_t mib : {102, 96, 101}) {
    reserved = mib * kMiB;
    EXPECT_THAT(program.Told(), IsEmpty()) << mib;
  }
  reserved = 94 * kMiB;
  EXPECT_THAT(program.Told(), IsEmpty());
  reserved = 101 * kMiB;
  EXPECT_THAT(program.Told(), ElementsAre(StartsWith("budget")));
}

TEST(AlertRules, TellFailuresOnceAMinute) {
  Trainee program;
  const auto fail = [&](std::uint64_t bytes) {
    ++program.process.ooms;
    program.process.oom = LiveFailure{0, bytes, 0, 5, false, "Step (a.py:9)"};
  };
  fail(kMiB);
  EXPECT_THAT(program.Told(),
              ElementsAre("oom: out of memory on GPU 0: Step (a.py:9) did not get 1.00 MiB; 1 such "
                          "since the last alert (process 7, step 5)"));
  fail(2 * kMiB);
  fail(3 * kMiB);
  EXPECT_THAT(program.Told(), IsEmpty());
  program.Wait(60);
  EXPECT_THAT(program.Told(), ElementsAre(HasSubstr("3.00 MiB; 2 such")));
  program.Wait(60);
  EXPECT_THAT(program.Told(), IsEmpty());
}

TEST(AlertRules, TellEachKindOfLossOnce) {
  Trainee program;
  program.process.losses = {{"events_lost", 5}};
  EXPECT_THAT(program.Told(), ElementsAre(HasSubstr("events_lost 5")));
  program.process.losses = {{"events_lost", 9}, {"strings_lost", 1}};
  EXPECT_THAT(program.Told(), ElementsAre(HasSubstr("strings_lost 1")));
}

TEST(AlertRules, NamesCannotControlATerminalOrEndALine) {
  Trainee program;
  program.Leaks({"a\n\x1b[31mb"});
  EXPECT_THAT(program.Told(), ElementsAre(HasSubstr("a??[31mb")));
}

class AlertRunnerTest : public ::testing::Test {
 protected:
  std::string Read(const std::string& name) {
    return memprof::testing::ReadFile(directory_.File(name));
  }
  static void GoUntilDone(AlertRunner* runner) {
    while (runner->Go()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  analysis::testing::TempDirectory directory_;
};

TEST_F(AlertRunnerTest, GivesTheCommandWhatItHasToKnow) {
  AlertRunner runner(Cat("env | grep ^MEMPROF_ALERT | sort > ", directory_.File("out")));
  runner.Add({.kind = "leak",
              .text = "it's $(rm -rf /) `x` \"leak\"",
              .log = "a b.mprof",
              .site = "One (a.py:1)",
              .pid = 7,
              .device = 1,
              .bytes = 12,
              .step = 3});
  GoUntilDone(&runner);
  EXPECT_EQ(Read("out"),
            "MEMPROF_ALERT=leak\nMEMPROF_ALERT_BYTES=12\nMEMPROF_ALERT_DEVICE=1\n"
            "MEMPROF_ALERT_LOG=a b.mprof\nMEMPROF_ALERT_PID=7\nMEMPROF_ALERT_RANK=\n"
            "MEMPROF_ALERT_SITE=One (a.py:1)\nMEMPROF_ALERT_STEP=3\n"
            "MEMPROF_ALERT_TEXT=it's $(rm -rf /) `x` \"leak\"\n");
}

TEST_F(AlertRunnerTest, OneAtATimeAndOnlySoManyWait) {
  const std::string out = directory_.File("out");
  AlertRunner runner(Cat("echo begin >> ", out, "; sleep 0.01; echo end >> ", out));
  for (int i = 0; i < 70; ++i) runner.Add({.kind = "leak"});
  GoUntilDone(&runner);
  EXPECT_EQ(runner.dropped(), 6u);
  std::string expected;
  for (int i = 0; i < 64; ++i) expected += "begin\nend\n";
  EXPECT_EQ(Read("out"), expected);
}

TEST_F(AlertRunnerTest, ACommandThatHangsIsLeftAlone) {
  AlertRunner runner(
      Cat("[ $MEMPROF_ALERT = lost ] && echo next > ", directory_.File("out"), " || exec sleep 20"),
      std::chrono::milliseconds(100));
  ::testing::internal::CaptureStderr();
  runner.Add({.kind = "leak"});
  runner.Add({.kind = "lost"});
  GoUntilDone(&runner);
  EXPECT_EQ(Read("out"), "next\n");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("left alone"));
}

}  // namespace
}  // namespace memprof::cli::testing
