// Guest of scripts/gpu-check: allocations in sequence, with an end or a start of the recording
// among them.
//
//   loop kill N       allocates N blocks and sends itself SIGKILL right after the last one
//   loop signal N     allocates N blocks, raises SIGUSR2, allocates N more and frees all
//   loop hold BYTES   allocates one block and waits until its input ends
//   loop beside BYTES allocates one block, and lets memprof sample the device a few times
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "driver.h"
#include "timing.h"

namespace memprof::gpu_check {
namespace {

constexpr std::size_t kEarly = 512, kLate = 1024;

// At least as large as memprof_stats, also in later versions: `size` limits how much is filled.
struct Stats {
  std::size_t size;
  std::uint64_t figures[7];
  std::uint32_t recording;
};

bool Recording() {
  static const auto get =
      reinterpret_cast<int (*)(Stats*)>(dlsym(RTLD_DEFAULT, "memprof_get_stats"));
  Stats stats{};
  stats.size = sizeof stats;
  return get != nullptr && get(&stats) >= 0 && stats.recording != 0;
}

void Rest() {
  const timespec time{0, 5'000'000};
  nanosleep(&time, nullptr);
}

// The next CUDA call after the signal, or memprof's own thread, switches recording on.
bool Await(bool recording) {
  for (int i = 0; i < 1000 && Recording() != recording; ++i) {
    CUdeviceptr block = 0;
    CALL(cuMemAlloc_v2, &block, kEarly);
    CALL(cuMemFree_v2, block);
    Rest();
  }
  return Recording() == recording;
}

std::vector<CUdeviceptr> Take(long count, std::size_t bytes) {
  const auto allocate = Find<decltype(&cuMemAlloc_v2)>("cuMemAlloc_v2");
  std::vector<CUdeviceptr> blocks(static_cast<std::size_t>(count));
  for (CUdeviceptr& block : blocks) Check(allocate(&block, bytes), "cuMemAlloc_v2");
  return blocks;
}

std::string Kill(long count) {
  UsePrimaryContext();
  std::printf("%ld\n", count);
  std::fflush(stdout);
  Take(count, kEarly);
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

std::string Signal(long count) {
  UsePrimaryContext();
  const std::vector<CUdeviceptr> early = Take(count, kEarly);
  const bool before = Recording();
  raise(SIGUSR2);
  const bool begun = Await(true);
  Mark("begun");
  const std::vector<CUdeviceptr> late = Take(count, kLate);
  Mark("taken");
  for (const CUdeviceptr block : late) CALL(cuMemFree_v2, block);
  Mark("given back");
  raise(SIGUSR2);
  const bool stopped = Await(false);
  const std::vector<CUdeviceptr> unseen = Take(count, 2 * kLate);
  for (const CUdeviceptr block : unseen) CALL(cuMemFree_v2, block);
  for (const CUdeviceptr block : early) CALL(cuMemFree_v2, block);
  const auto word = [](bool value) { return value ? "true" : "false"; };
  return "\"early\":" + std::to_string(kEarly) + ",\"late\":" + std::to_string(kLate) +
         ",\"recorded_before\":" + word(before) + ",\"begun\":" + word(begun) +
         ",\"stopped\":" + word(stopped);
}

std::string Hold(std::uint64_t bytes) {
  UsePrimaryContext();
  CUdeviceptr block = 0;
  CALL(cuMemAlloc_v2, &block, bytes);
  std::printf("{\"held\":%llu}\n", static_cast<unsigned long long>(bytes));
  std::fflush(stdout);
  char ignored = 0;
  while (read(0, &ignored, 1) > 0) {
  }
  return "";
}

std::string Beside(std::uint64_t bytes) {
  UsePrimaryContext();
  // memprof queries NVML if the program itself has loaded it.
  const bool nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr;
  CUdeviceptr block = 0;
  CALL(cuMemAlloc_v2, &block, bytes);
  Mark("look");
  for (int rest = 0; rest < 220; ++rest) Rest();  // memprof queries once a second
  Mark("look");
  return "\"nvml\":" + std::string(nvml ? "true" : "false") +
         ",\"asked\":" + std::to_string(bytes) + ",\"free\":" + std::to_string(FreeBytes());
}

std::string Describe(const std::string& mode, long number) {
  if (mode == "kill") return Kill(number);
  if (mode == "signal") return Signal(number);
  if (mode == "hold") return Hold(static_cast<std::uint64_t>(number));
  if (mode == "beside") return Beside(static_cast<std::uint64_t>(number));
  throw std::runtime_error("no mode " + mode);
}

}  // namespace
}  // namespace memprof::gpu_check

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: loop kill|signal|hold|beside NUMBER\n");
    return 2;
  }
  return memprof::gpu_check::Answer(
      [argv] { return memprof::gpu_check::Describe(argv[1], std::atol(argv[2])); });
}
