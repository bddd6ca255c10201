// Processes, golden files and the logs that tests look at.
#include "tests/cli/cli_test_support.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace memprof::cli::testing {
namespace {

using analysis::Layer;
using analysis::Op;
using analysis::testing::LogBuilder;

constexpr std::uint64_t kMiB = 1 << 20;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

[[noreturn]] void Child(const std::vector<std::string>& arguments, const std::string& directory,
                        const std::vector<std::string>& environment, const std::string& out,
                        const std::string& err) {
  const int out_file = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int err_file = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(out_file, STDOUT_FILENO);
  dup2(err_file, STDERR_FILENO);
  unsetenv("FORCE_COLOR");
  unsetenv("NO_COLOR");
  for (const std::string& entry : environment) putenv(const_cast<char*>(entry.c_str()));
  if (chdir(directory.c_str()) != 0) _exit(125);
  std::vector<char*> argv = {const_cast<char*>("memprof")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(MEMPROF_COMMAND, argv.data());
  _exit(126);
}

}  // namespace

Result Memprof(const std::vector<std::string>& arguments, const std::string& directory,
               const std::vector<std::string>& environment) {
  const analysis::testing::TempDirectory temporary;
  const std::string out = temporary.File("out"), err = temporary.File("err");
  const pid_t child = fork();
  if (child == 0) Child(arguments, directory, environment, out, err);
  Result result;
  int status = 0;
  if (waitpid(child, &status, 0) != child) return result;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = ReadFile(out);
  result.err = ReadFile(err);
  return result;
}

void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = std::string(MEMPROF_GOLDEN_DIR) + "/" + name;
  const char* update = std::getenv("MEMPROF_UPDATE_GOLDEN");
  if (update != nullptr && *update == '1') {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path << " is missing; run with MEMPROF_UPDATE_GOLDEN=1 and review it";
  EXPECT_EQ(text, ReadFile(path)) << "If this is meant, run with MEMPROF_UPDATE_GOLDEN=1";
}

void WriteTraining(LogBuilder& log) {
  log.header().set_executable("/opt/train/train_gpt");
  log.header().clear_argument();
  log.header().add_argument("train_gpt");
  log.header().add_argument("--steps=40");
  log.header().set_hostname("gpu-host");
  log.header().set_pid(4711);
  log.Device(0, 256 * kMiB, "test GPU");
  log.Device(1, 256 * kMiB, "test GPU");
  for (log::Device& device : *log.definitions().mutable_device()) device.set_simulated(false);
  log.Thread(1, 4711, "train_gpt");
  log.SourceState("driver", 1, "CUDA 13.0");
  log.SourceState("cupti", 2, "another subscriber is active");
  const int segment = log.Stack({"main (train.cc:100)", "Allocator::Grow (allocator.cc:61)"});
  const int weights = log.Stack({"main (train.cc:100)", "Model::Model (model.cc:12)"});
  const int forward = log.Stack({"main (train.cc:100)", "Model::Forward (model.cc:40)"});
  const int history =
      log.Stack({"main (train.cc:100)", "TrainStep (train.cc:77)", "HistoryLeak (history.cc:42)"});
  const int prefetch = log.Stack({"main (train.cc:100)", "Loader::Loader (loader.cc:9)"});
  const int replica = log.Stack({"main (train.cc:100)", "Replicate (train.cc:130)"});
  const std::uint64_t base = 0x7f0000000000;
  log.Alloc(Layer::kPinned, 0x5000, 8 * kMiB,
            {.device = analysis::kNoDevice, .stack = prefetch, .api = "cuMemHostAlloc"});
  log.Alloc(Layer::kLinear, base, 64 * kMiB, {.stack = segment, .api = "cuMemAlloc_v2"});
  log.Alloc(Layer::kSegment, base, 64 * kMiB, {.stack = segment});
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::uint64_t address = base + i * 2 * kMiB;
    log.Alloc(Layer::kBlock, address, 2 * kMiB, {.stack = weights, .aux0 = 2 * kMiB - 100});
    log.TensorCreate(address, 2 * kMiB - 100,
                     log.Tensor("layer" + std::to_string(i) + ".weight", "float32", {512, 1024}),
                     {.stack = weights});
  }
  log.Alloc(Layer::kLinear, base + 1024 * kMiB, 32 * kMiB, {.device = 1, .stack = replica});
  for (std::uint64_t step = 0; step < 40; ++step) {
    log.AdvanceTime(10'000'000);
    log.Step(step);
    const std::uint64_t activations = base + 56 * kMiB;
    log.Alloc(Layer::kBlock, activations, 6 * kMiB, {.stack = forward, .aux0 = 6 * kMiB});
    log.TensorCreate(activations, 6 * kMiB, log.Tensor("activations", "bfloat16", {64, 49152}),
                     {.stack = forward});
    const std::uint64_t kept = base + (8 + step) * kMiB;
    log.Alloc(Layer::kBlock, kept, kMiB, {.stack = history, .aux0 = kMiB});
    log.TensorCreate(kept, kMiB, log.Tensor("loss_history", "float32", {262144}),
                     {.stack = history});
    log.Free(Layer::kTensor, activations);
    log.Free(Layer::kBlock, activations);
  }
  log.AllocFailed(Layer::kLinear, 512 * kMiB, {.stack = forward, .result = 2});
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 180 * kMiB, 0, {.aux0 = 256 * kMiB});
}

void WriteRaw(LogBuilder& log) {
  log.header().clear_argument();
  log.header().set_executable("/opt/tool/raw");
  log.header().set_hostname("gpu-host");
  log.header().set_pid(12);
  log.Device(0, 0, "stand-in");
  const int site = log.Stack({"main (raw.cc:3)", "Table::Grow (table.cc:8)"});
  log.Alloc(Layer::kLinear, 0x10000, 4096, {.stack = site, .api = "cuMemAlloc_v2"});
  log.Alloc(Layer::kManaged, 0x20000, 100'000, {.stack = site});
  log.RangePush("fill \"it\"");
  log.RangePop();
  log.Snapshot("half way");
  log.Free(0x10000);
  log.Free(0x77777);
}

Logs::Logs() {
  path_ = std::filesystem::path(directory_.File("")).parent_path().string();
  LogBuilder training;
  WriteTraining(training);
  directory_.Write("train.mprof", training.Bytes());
  LogBuilder raw;
  WriteRaw(raw);
  LogBuilder::WriteOptions cut;
  cut.trailer = false;
  cut.index = false;
  directory_.Write("raw.mprof", raw.Bytes(cut));
}

}  // namespace memprof::cli::testing
