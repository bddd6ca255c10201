// Every seeded leak loses exactly the bytes that --leak list states, counted at the CUDA calls and
// by the allocator.
#include "demo_trainer/leaks/leaks.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <map>

#include "demo_trainer/options.h"
#include "demo_trainer/train/trainer.h"

namespace {

std::map<void*, size_t> g_device_memory;
std::map<void*, size_t> g_pinned_memory;

template <typename Function>
Function Next(Function, const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

size_t Total(const std::map<void*, size_t>& memory) {
  size_t total = 0;
  for (const auto& [ptr, bytes] : memory) total += bytes;
  return total;
}

}  // namespace

// Called instead of the runtime's functions, also by the trainer's code in this program.
extern "C" cudaError_t cudaMalloc(void** ptr, size_t bytes) {
  using Malloc = cudaError_t (*)(void**, size_t);
  const cudaError_t result = Next(Malloc(), "cudaMalloc")(ptr, bytes);
  if (result == cudaSuccess) g_device_memory[*ptr] = bytes;
  return result;
}

extern "C" cudaError_t cudaFree(void* ptr) {
  g_device_memory.erase(ptr);
  return Next(&cudaFree, "cudaFree")(ptr);
}

extern "C" cudaError_t cudaHostAlloc(void** ptr, size_t bytes, unsigned flags) {
  using HostAlloc = cudaError_t (*)(void**, size_t, unsigned);
  const cudaError_t result = Next(HostAlloc(), "cudaHostAlloc")(ptr, bytes, flags);
  if (result == cudaSuccess) g_pinned_memory[*ptr] = bytes;
  return result;
}

extern "C" cudaError_t cudaFreeHost(void* ptr) {
  g_pinned_memory.erase(ptr);
  return Next(&cudaFreeHost, "cudaFreeHost")(ptr);
}

namespace memprof::demo {
namespace {

struct Lost {
  size_t device = 0;
  size_t host = 0;
};

// Trains with cudaMalloc for each tensor, so that the lost bytes are exact.
Lost TrainAndCount(const std::vector<std::string>& extra) {
  std::vector<std::string> arguments = {"--layers",    "1",         "--dim",  "16",      "--heads",
                                        "2",           "--context", "8",      "--batch", "4",
                                        "--allocator", "cuda",      "--quiet"};
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  const size_t device_before = Total(g_device_memory);
  const size_t host_before = Total(g_pinned_memory);
  Trainer(ParseOptions(arguments)).Run();
  return {Total(g_device_memory) - device_before, Total(g_pinned_memory) - host_before};
}

class LeakTest : public testing::TestWithParam<const char*> {};

TEST_P(LeakTest, LosesWhatItPromises) {
  const LeakKind* kind = FindLeak(GetParam());
  ASSERT_NE(kind, nullptr);
  const std::vector<std::string> arguments = {"--leak", kind->name,     "--steps",
                                              "20",     "--grad-accum", "2"};
  Options options = ParseOptions({"--layers", "1", "--dim", "16", "--heads", "2", "--context", "8",
                                  "--batch", "4", "--grad-accum", "2", "--leak", kind->name});
  const Lost lost = TrainAndCount(arguments);
  const double promised = 20.0 * kind->bytes_per_step(options);
  EXPECT_GT(promised, 0.0);
  EXPECT_EQ(static_cast<double>(kind->host ? lost.host : lost.device), promised);
  EXPECT_EQ(kind->host ? lost.device : lost.host, 0u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, LeakTest,
                         testing::Values("history", "hook", "error-path", "shape-cache", "eval",
                                         "extension", "cycle", "pinned"),
                         [](const auto& kind) {
                           std::string name = kind.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(LeaksTest, EveryKindIsTested) { EXPECT_EQ(LeakKinds().size(), 8u); }

TEST(LeaksTest, NoLeakLosesNothing) {
  const Lost lost = TrainAndCount({"--steps", "5", "--eval-every", "2", "--prefetch"});
  EXPECT_EQ(lost.device, 0u);
  EXPECT_EQ(lost.host, 0u);
}

TEST(LeaksTest, LeakAfterDelaysTheLeak) {
  const Lost lost = TrainAndCount({"--steps", "10", "--leak", "extension", "--leak-after", "7"});
  EXPECT_EQ(lost.device, 3 * kExtensionBytes);
}

TEST(LeaksTest, CheckpointingDoesNotRunHooksTwice) {
  const Lost lost = TrainAndCount({"--steps", "3", "--leak", "hook", "--checkpointing"});
  EXPECT_EQ(lost.device, 3u * (4 * 8) * (4 * 16) * 4);
}

}  // namespace
}  // namespace memprof::demo
