// Asks NVML for the processes of a device.
//
// NVML opens files of its own and keeps them, and that is not for us to bring into every program:
// it is used where the program has loaded it itself (NCCL and PyTorch do), and otherwise loaded
// when an allocation has failed: then "who has my memory?" is the question, and the program has
// better things to worry about than a few files. Never from the recorder's own thread, which
// would race with a program that closes all descriptors it does not know.
//
// Types and functions: the NVML API reference, nvml.h.
#include "libmemprof/src/driver/other_processes.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>

#include "libmemprof/src/driver/api.h"
#include "libmemprof/src/loader/real_dlsym.h"

namespace memprof::recorder {
namespace {

constexpr int kMaxDevices = 64;
constexpr std::uint64_t kQueryNs = 1'000'000'000;
constexpr unsigned kMaxProcesses = 256;

struct ProcessInfo {  // nvmlProcessInfo_v2_t
  unsigned pid;
  unsigned long long used_bytes;  // all ones = not available
  unsigned gpu_instance, compute_instance;
};
struct MemoryInfo {  // nvmlMemory_t
  unsigned long long total, free, used;
};
struct Nvml {
  int (*init)();
  int (*by_bus_id)(const char*, void**);
  int (*memory)(void*, MemoryInfo*);
  int (*compute)(void*, unsigned*, ProcessInfo*);
  int (*graphics)(void*, unsigned*, ProcessInfo*);
};

// simcuda_memory of the stand-in, whose size field says how much of it is known.
struct StandinMemory {
  std::size_t size;
  std::uint64_t of_this_process[10];
  std::uint64_t other_bytes;
};

enum class State : int { kUnknown, kOpening, kReady, kRefused };
std::atomic<State> g_state{State::kUnknown};
Nvml g_nvml;
std::atomic<std::uint64_t> g_next_query_ns[kMaxDevices];
std::atomic<std::uint64_t> g_answer[kMaxDevices];

bool Open(bool may_load) {
  const State known = g_state.load(std::memory_order_acquire);
  if (known == State::kReady) return true;
  if (known != State::kUnknown) return false;
  void* library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr && !may_load) return false;
  State unknown = State::kUnknown;
  if (!g_state.compare_exchange_strong(unknown, State::kOpening)) return false;
  if (library == nullptr) library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
  const auto find = [library](const char* name) {
    return library == nullptr ? nullptr : RealDlsym(library, name);
  };
  g_nvml.init = reinterpret_cast<int (*)()>(find("nvmlInit_v2"));
  g_nvml.by_bus_id =
      reinterpret_cast<int (*)(const char*, void**)>(find("nvmlDeviceGetHandleByPciBusId_v2"));
  g_nvml.memory = reinterpret_cast<int (*)(void*, MemoryInfo*)>(find("nvmlDeviceGetMemoryInfo"));
  g_nvml.compute = reinterpret_cast<int (*)(void*, unsigned*, ProcessInfo*)>(
      find("nvmlDeviceGetComputeRunningProcesses_v3"));
  g_nvml.graphics = reinterpret_cast<int (*)(void*, unsigned*, ProcessInfo*)>(
      find("nvmlDeviceGetGraphicsRunningProcesses_v3"));
  const bool ready = g_nvml.init != nullptr && g_nvml.by_bus_id != nullptr &&
                     g_nvml.memory != nullptr && g_nvml.compute != nullptr && g_nvml.init() == 0;
  g_state.store(ready ? State::kReady : State::kRefused, std::memory_order_release);
  return ready;
}

// Adds what others use; `own` is set when this process is among them. False when it cannot be told.
bool AddUp(int (*list)(void*, unsigned*, ProcessInfo*), void* device, std::uint64_t* others,
           bool* own) {
  if (list == nullptr) return true;
  ProcessInfo processes[kMaxProcesses];
  unsigned count = kMaxProcesses;
  if (list(device, &count, processes) != 0) return false;
  for (unsigned i = 0; i < count && i < kMaxProcesses; ++i) {
    if (processes[i].pid == static_cast<unsigned>(getpid()))
      *own = true;
    else if (processes[i].used_bytes == ~0ull)
      return false;
    else
      *others += processes[i].used_bytes;
  }
  return true;
}

std::uint64_t Ask(std::int32_t device, std::uint64_t total_bytes) {
  char bus_id[32] = "";
  void* handle = nullptr;
  MemoryInfo memory{};
  const CalledFunctions& driver = Driver();
  if (driver.cuDeviceGetPCIBusId == nullptr ||
      driver.cuDeviceGetPCIBusId(bus_id, sizeof bus_id, device) != CUDA_SUCCESS ||
      g_nvml.by_bus_id(bus_id, &handle) != 0 || g_nvml.memory(handle, &memory) != 0)
    return 0;
  // A slice of a device (MIG): the figures of the whole say nothing about it.
  if (memory.total > total_bytes + total_bytes / 4) return 0;
  std::uint64_t others = 0;
  bool own = false;
  // In a container NVML speaks of pids that are not ours: then nobody can be told from us.
  if (!AddUp(g_nvml.compute, handle, &others, &own) ||
      !AddUp(g_nvml.graphics, handle, &others, &own) || !own)
    return 0;
  return others + 1;
}

}  // namespace

std::uint64_t OtherProcesses(std::int32_t device, std::uint64_t total_bytes, std::uint64_t now_ns,
                             bool may_load) {
  if (device < 0 || device >= kMaxDevices) return 0;
  if (const auto standin =
          reinterpret_cast<int (*)(int, StandinMemory*)>(RealDriverSymbol("simcuda_get_memory"))) {
    StandinMemory memory{};
    memory.size = sizeof memory;
    return standin(device, &memory) == 0 ? memory.other_bytes + 1 : 0;
  }
  std::atomic<std::uint64_t>& next = g_next_query_ns[device];
  std::uint64_t due = next.load(std::memory_order_relaxed);
  if (now_ns >= due && next.compare_exchange_strong(due, now_ns + kQueryNs) && Open(may_load))
    g_answer[device].store(Ask(device, total_bytes), std::memory_order_relaxed);
  return g_answer[device].load(std::memory_order_relaxed);
}

}  // namespace memprof::recorder
