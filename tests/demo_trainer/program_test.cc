// The program as its users run it: on the stand-in, from the command line.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// Runs the trainer with a stand-in described by `simcuda`.
Outcome RunTrainer(std::vector<std::string> arguments, const std::string& simcuda = "devices=2") {
  char folder[] = "/tmp/demo_trainer_XXXXXX";
  if (mkdtemp(folder) == nullptr) return {};
  const std::filesystem::path place(folder);
  arguments.insert(arguments.begin(), DEMO_TRAINER_PROGRAM);
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("SIMCUDA", simcuda.c_str(), 1);
    dup2(open((place / "out").c_str(), O_CREAT | O_WRONLY, 0600), 1);
    dup2(open((place / "err").c_str(), O_CREAT | O_WRONLY, 0600), 2);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                  ReadAll(place / "out"), ReadAll(place / "err")};
  std::filesystem::remove_all(place);
  return outcome;
}

Outcome TrainSmall(std::vector<std::string> extra, const std::string& simcuda = "devices=2") {
  std::vector<std::string> arguments = {"--layers",  "2",  "--dim",   "32", "--heads",       "2",
                                        "--context", "32", "--batch", "8",  "--print-every", "1",
                                        "--steps",   "8"};
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  return RunTrainer(arguments, simcuda);
}

// The number after each mention of `words`, in the order printed.
std::vector<double> Numbers(const std::string& out, const std::string& words) {
  std::vector<double> numbers;
  for (size_t at = out.find(words); at != std::string::npos; at = out.find(words, at)) {
    at += words.size();
    numbers.push_back(std::strtod(&out[at], nullptr));
  }
  return numbers;
}

std::vector<double> Losses(const std::string& out) { return Numbers(out, ": loss "); }

// Unlike losses, these show a wrong scale of the gradients, which clipping and AdamW hide.
std::vector<double> GradientNorms(const std::string& out) { return Numbers(out, "gradient norm "); }

// A figure of the first device, or -1.
int64_t Stat(const std::string& out, const std::string& when, const std::string& key) {
  const size_t line = out.find("stats when=" + when + " ");
  if (line == std::string::npos) return -1;
  const std::vector<double> numbers = Numbers(out.substr(line), " " + key + "=");
  return numbers.empty() ? -1 : static_cast<int64_t>(numbers[0]);
}

// "step …" lines of the training only: what must not depend on how the work is done.
std::string StepLines(const std::string& out) {
  std::istringstream stream(out);
  std::string lines;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("step ") && line.find("held-out") == std::string::npos) {
      lines += line + "\n";
    }
  }
  return lines;
}

TEST(ProgramTest, LossFalls) {
  const Outcome run = TrainSmall({"--steps", "40", "--lr", "0.005"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.err, "");
  const std::vector<double> losses = Losses(run.out);
  ASSERT_EQ(losses.size(), 40u);
  EXPECT_NEAR(losses.front(), std::log(256.0), 0.1) << "an untrained model knows nothing";
  EXPECT_LT(losses.back(), 3.6);
}

TEST(ProgramTest, SameSeedSameRun) {
  const Outcome first = TrainSmall({});
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(TrainSmall({}).out, first.out);
  EXPECT_NE(TrainSmall({"--seed", "2"}).out, first.out);
}

TEST(ProgramTest, MemoryOptionsChangeNoDigit) {
  const std::string plain = StepLines(TrainSmall({}).out);
  ASSERT_EQ(Losses(plain).size(), 8u);
  const std::vector<std::string> cases[] = {{"--checkpointing"},
                                            {"--inplace"},
                                            {"--prefetch"},
                                            {"--allocator", "cuda"},
                                            {"--allocator", "async"},
                                            {"--max-split", "21MiB"},
                                            {"--allocator", "async", "--prefetch", "--inplace"}};
  for (const auto& options : cases) {
    EXPECT_EQ(StepLines(TrainSmall(options).out), plain) << options[0];
  }
}

TEST(ProgramTest, CheckpointingAndInPlaceSaveMemory) {
  const auto peak = [](std::vector<std::string> options) {
    options.push_back("--stats");
    options.insert(options.end(), {"--layers", "4", "--steps", "2"});
    return Stat(TrainSmall(options).out, "end", "peak_allocated");
  };
  const int64_t plain = peak({});
  ASSERT_GT(plain, 0);
  EXPECT_LT(peak({"--checkpointing"}), plain * 8 / 10);
  EXPECT_LT(peak({"--inplace"}), plain);
  EXPECT_LT(peak({"--dtype", "bf16"}), plain);
}

void ExpectSameTraining(const std::vector<std::string>& options) {
  const Outcome alone = TrainSmall({});
  const Outcome run = TrainSmall(options);
  ASSERT_EQ(run.status, 0) << run.err;
  for (const auto& read : {Losses, GradientNorms}) {
    const std::vector<double> expected = read(alone.out);
    const std::vector<double> actual = read(run.out);
    ASSERT_EQ(expected.size(), 8u);
    ASSERT_EQ(actual.size(), 8u);
    for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(actual[i], expected[i], 2e-3) << i;
  }
}

TEST(ProgramTest, TwoDevicesTrainLikeOne) { ExpectSameTraining({"--devices", "2"}); }
TEST(ProgramTest, TwoRanksTrainLikeOne) { ExpectSameTraining({"--ranks", "2"}); }
TEST(ProgramTest, RanksOfDevicesTrainLikeOne) {
  ExpectSameTraining({"--ranks", "2", "--devices", "2", "--prefetch"});
}
TEST(ProgramTest, AccumulatingTrainsLikeOneBatch) {
  ExpectSameTraining({"--batch", "4", "--grad-accum", "2"});
}
TEST(ProgramTest, LossScalingDoesNotChangeTheTraining) {
  ExpectSameTraining({"--loss-scale", "1024"});
}

TEST(ProgramTest, BFloat16TrainsWithLossScaling) {
  const Outcome run = TrainSmall({"--dtype", "bf16", "--steps", "20", "--lr", "0.005"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("loss scale 65536"));
  const std::vector<double> alone = Losses(TrainSmall({"--steps", "20", "--lr", "0.005"}).out);
  const std::vector<double> low = Losses(run.out);
  ASSERT_EQ(low.size(), 20u);
  EXPECT_NEAR(low.back(), alone.back(), 0.1);
}

TEST(ProgramTest, OverflowSkipsStepsUntilTheScaleFits) {
  const Outcome run =
      TrainSmall({"--dtype", "bf16", "--loss-scale", "3e38", "--batch", "1", "--context", "2"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("step 0: a gradient overflowed; step skipped, loss scale 3e+38 "
                                 "-> 1.5e+38"));
  EXPECT_FALSE(Losses(run.out).empty()) << "the scale must come to fit";
}

TEST(ProgramTest, EvaluatesOnHeldOutText) {
  const Outcome run = TrainSmall({"--eval-every", "4", "--empty-cache"});
  EXPECT_THAT(run.out, ContainsRegex("step 3: held-out loss [45]\\."));
  EXPECT_THAT(run.out, ContainsRegex("step 7: held-out loss [45]\\."));
  // Evaluations leave no trace in the training.
  EXPECT_EQ(StepLines(run.out), StepLines(TrainSmall({}).out));
}

TEST(ProgramTest, TrainsOnAnotherText) {
  const auto path =
      std::filesystem::temp_directory_path() / ("demo_trainer_program_" + std::to_string(getpid()));
  std::ofstream(path) << std::string(5000, 'x');
  const Outcome run = TrainSmall({"--text", path.string(), "--steps", "30", "--lr", "0.01"});
  std::filesystem::remove(path);
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_LT(Losses(run.out).back(), 0.1) << "there is only one letter to learn";
}

TEST(ProgramTest, StatsAreEmptyAtExitUnlessItLeaks) {
  const Outcome clean = TrainSmall({"--stats"});
  EXPECT_GT(Stat(clean.out, "end", "allocated"), 0);
  EXPECT_EQ(Stat(clean.out, "exit", "allocated"), 0);
  EXPECT_EQ(Stat(clean.out, "exit", "reserved"), 0);
  const Outcome leaking = TrainSmall({"--stats", "--leak", "shape-cache"});
  EXPECT_EQ(Stat(leaking.out, "exit", "requested"), 8 * 256 * 1024);
}

TEST(ProgramTest, OutOfMemoryIsOneClearLine) {
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

TEST(ProgramTest, AFailingRankEndsTheRun) {
  const Outcome run = TrainSmall({"--ranks", "2", "--batch", "512"}, "memory=40MiB,overhead=4MiB");
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("CUDA out of memory"));
}

TEST(ProgramTest, WrongUsageIsOneLineAndStatusTwo) {
  const Outcome run = RunTrainer({"--layers", "many"});
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(run.err, "demo_trainer: --layers takes a whole number, not 'many'\n");
  EXPECT_EQ(run.out, "");
}

TEST(ProgramTest, FailuresAreOneLineAndStatusOne) {
  const Outcome text = RunTrainer({"--text", "/nonexistent"});
  EXPECT_EQ(text.status, 1);
  EXPECT_EQ(text.err, "demo_trainer: cannot read the text '/nonexistent': not a file\n");
  const Outcome devices = RunTrainer({"--devices", "4"}, "devices=2");
  EXPECT_EQ(devices.status, 1);
  EXPECT_EQ(devices.err, "demo_trainer: --devices 4 asks for more than the 2 there are\n");
}

TEST(ProgramTest, HelpAndListsNeedNoDevice) {
  const Outcome help = RunTrainer({"--help"}, "fail=cuInit:1:100");
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, HasSubstr("Examples\n  demo_trainer"));
  const Outcome leaks = RunTrainer({"--leak", "list"}, "fail=cuInit:1:100");
  EXPECT_EQ(leaks.status, 0);
  EXPECT_THAT(leaks.out, HasSubstr("RememberHistory"));
}

TEST(ProgramTest, QuietSaysNothing) {
  const Outcome run = TrainSmall({"--quiet"});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.out + run.err, "");
}

}  // namespace
