// Queries NVML for the processes of a device.
//
// NVML opens files and keeps them open, which the recorder must not do in every program. So it is
// used if the program itself has loaded it (NCCL and PyTorch do). Otherwise it is loaded only after
// a failed allocation, when the memory of other processes matters more than a few files. It is
// never called on the recorder's own thread, which would race with a program that closes all
// descriptors it does not know.
//
// Types and functions: the NVML API reference, nvml.h.
#include "libmemprof/src/driver/other_processes.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>

#include "libmemprof/src/base/sys.h"
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

// simcuda_memory of the stand-in; its size field shows how much of it is valid.
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
  const SignalsOff signals_off;  // the loader has a lock
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

// Adds the bytes of other processes; sets `own` when this process is in the list. False when the
// list, or a figure in it, is not available.
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
  // A slice of a device (MIG): the figures are those of the whole device, and useless here.
  if (memory.total > total_bytes + total_bytes / 4) return 0;
  std::uint64_t others = 0;
  bool own = false;
  // In a container, NVML may return pids of another namespace: then this process cannot be found in
  // the list.
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
