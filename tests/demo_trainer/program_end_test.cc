// The program with errors or early ends: usage, texts, memory, signals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/demo_trainer/trainer_process.h"

namespace memprof::demo {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

// Trains on a text with these bytes.
Outcome TrainOn(const std::string& text, std::vector<std::string> extra) {
  char path[] = "/tmp/demo_trainer_text_XXXXXX";
  close(mkstemp(path));
  std::ofstream(path, std::ios::binary) << text;
  extra.insert(extra.end(), {"--text", path});
  Outcome run = TrainSmall(extra);
  std::filesystem::remove(path);
  const size_t name = run.err.find(path);
  if (name != std::string::npos) run.err.replace(name, std::strlen(path), "TEXT");
  return run;
}

TEST(ProgramEndTest, TrainsOnAnotherText) {
  const Outcome run = TrainOn(std::string(5000, 'x'), {"--steps", "30", "--lr", "0.01"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_LT(Losses(run.out).back(), 0.1) << "there is only one letter to learn";
}

TEST(ProgramEndTest, OutOfMemoryIsOneClearLine) {
  for (const char* allocator : {"caching", "cuda", "async"}) {
    const Outcome run =
        TrainSmall({"--allocator", allocator, "--batch", "512"}, "memory=40MiB,overhead=4MiB");
    EXPECT_EQ(run.status, 1) << allocator;
    EXPECT_THAT(run.err, testing::MatchesRegex(
                             "demo_trainer: CUDA out of memory. Tried to allocate [0-9.]+ [KM]iB. "
                             "GPU 0 has a total capacity of 40.00 MiB of which .* is free. The "
                             "allocator holds .* reserved but unallocated.\n"));
  }
}

TEST(ProgramEndTest, AFailingRankEndsTheRun) {
  const Outcome run = TrainSmall({"--ranks", "2", "--batch", "512"}, "memory=40MiB,overhead=4MiB");
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("CUDA out of memory"));
}

TEST(ProgramEndTest, WrongUsageIsOneLineAndStatusTwo) {
  const Outcome run = RunTrainer({"--layers", "many"});
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(run.err, "demo_trainer: --layers takes a whole number, not 'many'\n");
  EXPECT_EQ(run.out, "");
}

TEST(ProgramEndTest, FailuresAreOneLineAndStatusOne) {
  const Outcome text = RunTrainer({"--text", "/nonexistent"});
  EXPECT_EQ(text.status, 1);
  EXPECT_EQ(text.err, "demo_trainer: cannot read the text '/nonexistent': not a file\n");
  const Outcome devices = RunTrainer({"--devices", "4"}, "devices=2");
  EXPECT_EQ(devices.status, 1);
  EXPECT_EQ(devices.err, "demo_trainer: --devices 4 asks for more than the 2 there are\n");
}

TEST(ProgramEndTest, TextsThatCannotBeTrainedOnAreOneLine) {
  const std::string too_short =
      "demo_trainer: the text 'TEXT' is too short: a tenth of it must hold 33 bytes\n";
  EXPECT_EQ(TrainOn("", {}).err, too_short);
  EXPECT_EQ(TrainOn(std::string(329, 'x'), {}).err, too_short);
  EXPECT_EQ(TrainOn(std::string(330, 'x'), {}).err, "");
  // A regular file whose first bytes cannot be read.
  const Outcome unreadable = TrainSmall({"--text", "/proc/self/mem"});
  EXPECT_EQ(unreadable.status, 1);
  EXPECT_EQ(unreadable.err, "demo_trainer: cannot read the text '/proc/self/mem'\n");
}

TEST(ProgramEndTest, AnyBytesAreAText) {
  std::string bytes;
  for (int i = 0; i < 8192; ++i) bytes.push_back(static_cast<char>(i * 37 + i / 256));
  const Outcome run = TrainOn(bytes, {"--eval-every", "8"});
  EXPECT_EQ(run.status, 0) << run.err;
  for (const double loss : Losses(run.out)) EXPECT_NEAR(loss, std::log(256.0), 0.2);
}

TEST(ProgramEndTest, StatsAreALineForEachDeviceAndRank) {
  const Outcome run = TrainSmall({"--quiet", "--stats", "--ranks", "2", "--devices", "2"});
  ASSERT_EQ(run.status, 0) << run.err;
  for (const char* when : {"end", "exit"}) {
    for (const char* place : {"rank=0 device=0", "rank=0 device=1", "rank=1 device=0"}) {
      EXPECT_THAT(run.out,
                  HasSubstr(std::string("stats when=") + when + " " + place + " allocated="));
    }
  }
  std::istringstream stream(run.out);
  int lines = 0;
  for (std::string line; std::getline(stream, line); ++lines) {
    EXPECT_THAT(line, ContainsRegex("^stats .* allocated=[0-9]+ peak_allocated=[0-9]+ "
                                    "requested=[0-9]+ .* reserved=[0-9]+ .* retries=0 ooms=0$"));
  }
  EXPECT_EQ(lines, 8);
}

TEST(ProgramEndTest, TerminatedInTheMiddleItEndsAtOnce) {
  TrainerProcess trainer(Small({"--steps", "1000000"}));
  ASSERT_TRUE(trainer.WaitForAStep());
  kill(trainer.pid(), SIGTERM);
  const Outcome run = trainer.Wait();
  EXPECT_EQ(run.status, 128 + SIGTERM);
  EXPECT_THAT(run.out, testing::Not(HasSubstr("step 999999")));
}

// Whether the process ends within ten seconds. It need not be a child of this process.
bool Ends(pid_t pid) {
  for (int i = 0; i < 10'000; ++i) {
    std::ifstream stream("/proc/" + std::to_string(pid) + "/stat");
    std::string id;
    std::string name;
    std::string state = "Z";
    stream >> id >> name >> state;
    if (state == "Z" || state == "X") return true;
    usleep(1000);
  }
  return false;
}

TEST(ProgramEndTest, RanksEndWithTheProgramThatStartedThem) {
  TrainerProcess trainer(Small({"--steps", "1000000", "--ranks", "2"}));
  ASSERT_TRUE(trainer.WaitForAStep());
  const std::vector<pid_t> ranks = trainer.Children();
  ASSERT_EQ(ranks.size(), 2u);
  kill(trainer.pid(), SIGKILL);
  EXPECT_EQ(trainer.Wait().status, 128 + SIGKILL);
  for (const pid_t rank : ranks) EXPECT_TRUE(Ends(rank));
}

TEST(ProgramEndTest, AKilledRankEndsTheOthers) {
  TrainerProcess trainer(Small({"--steps", "1000000", "--ranks", "2"}));
  ASSERT_TRUE(trainer.WaitForAStep());
  const std::vector<pid_t> ranks = trainer.Children();
  ASSERT_EQ(ranks.size(), 2u);
  kill(ranks[1], SIGKILL);
  const Outcome run = trainer.Wait();
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.err, "demo_trainer: a rank was ended by signal 9\n");
}

TEST(ProgramEndTest, RanksShareTheCapacityOfADevice) {
  // A context and a segment are 4 MiB: one rank fits, two do not.
  const std::string tight = "memory=7MiB,overhead=2MiB";
  EXPECT_EQ(TrainSmall({}, tight).status, 0);
  EXPECT_EQ(TrainSmall({"--ranks", "2"}, "memory=8MiB,overhead=2MiB").status, 0);
  const Outcome both = TrainSmall({"--ranks", "2"}, tight);
  EXPECT_EQ(both.status, 1);
  EXPECT_THAT(both.err, HasSubstr("out of memory"));
}

TEST(ProgramEndTest, NoStepsAreFine) {
  const Outcome run = TrainSmall({"--steps", "0", "--stats"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(Losses(run.out).empty());
  EXPECT_EQ(Stat(run.out, "exit", "allocated"), 0);
}

TEST(ProgramEndTest, HelpAndListsNeedNoDevice) {
  const Outcome help = RunTrainer({"--help"}, "fail=cuInit:1:100");
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, HasSubstr("Examples\n  demo_trainer"));
  const Outcome leaks = RunTrainer({"--leak", "list"}, "fail=cuInit:1:100");
  EXPECT_EQ(leaks.status, 0);
  EXPECT_THAT(leaks.out, HasSubstr("RememberHistory"));
}

TEST(ProgramEndTest, QuietSaysNothing) {
  const Outcome run = TrainSmall({"--quiet"});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.out + run.err, "");
}

}  // namespace
}  // namespace memprof::demo
