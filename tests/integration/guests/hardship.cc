// A guest of the runtime API that is hard to record. Calls are printed as
// "alloc linear ADDRESS BYTES" and "free linear ADDRESS 0".
//
//   flood THREADS PAIRS   threads that only allocate and free; prints the number of pairs
//   dying THREADS         threads that end in abnormal ways while others allocate
//   closeall              close_range over everything above stderr, then continues
//   descriptors N WHEN    RLIMIT_NOFILE = N before the first call, or after it (early, late)
//   filesize N WHEN       RLIMIT_FSIZE = N; prints nothing more, since its output may be a file
//   address MIB WHEN      RLIMIT_AS = the address space in use + MIB
//   signals               its own handlers and masks for every signal, all of which are delivered
//   seccomp ERRNO WHEN    a filter that fails calls that few programs make with ERRNO (EPERM,
//                         ENOSYS)
//   plugin LIBRARY        loads it, allocates from its code, unloads it, allocates again
//   vanish DIRECTORY      removes that directory and its contents, then continues
//   chdir                 changes its directory, closes all descriptors, then continues
//   toggle HANDLER        sends itself SIGUSR2 between allocations of 1000, 2000, 3000 and 4000
//                         bytes; HANDLER: plain (none), own (installs one before its first call)
//   little MIB            like address, then sends itself SIGUSR2 before it continues
//   endless               unlimited stacks, names and live blocks
//   malloc                allocates; prints how often the preloaded allocator was called, if any
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

// There if the allocator, or the recorder, is preloaded.
extern "C" {
struct memprof_stats {
  std::size_t size;
  unsigned long counts[7];
  unsigned recording;
};
unsigned long tiny_malloc_calls() __attribute__((weak));
int memprof_get_stats(memprof_stats* stats) __attribute__((weak));
int memprof_range_push(const char* name) __attribute__((weak));
int memprof_range_pop() __attribute__((weak));
}

namespace {

void Check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::printf("%s failed: %d\n", what, static_cast<int>(result));
  std::fflush(stdout);
  std::_Exit(3);
}

bool g_quiet = false;
std::atomic_flag g_printing = ATOMIC_FLAG_INIT;

void Print(const char* op, void* pointer, std::size_t bytes) {
  if (g_quiet) return;
  char text[96];
  const int length = std::snprintf(text, sizeof text, "%s linear %llx %zu\n", op,
                                   reinterpret_cast<unsigned long long>(pointer), bytes);
  while (g_printing.test_and_set()) std::this_thread::yield();
  if (write(STDOUT_FILENO, text, static_cast<std::size_t>(length)) != length) std::_Exit(4);
  g_printing.clear();
}

__attribute__((noinline)) void* Allocate(std::size_t bytes) {
  void* pointer = nullptr;
  Check(cudaMalloc(&pointer, bytes), "malloc");
  Print("alloc", pointer, bytes);
  return pointer;
}

void Free(void* pointer) {
  Print("free", pointer, 0);
  Check(cudaFree(pointer), "free");
}

void GoOn() {
  for (std::size_t i = 0; i < 300; ++i) Free(Allocate(100 + i));
}

int Flood(int threads, int pairs) {
  std::vector<std::thread> workers;
  std::atomic<long> done{0};
  for (int t = 0; t < threads; ++t)
    workers.emplace_back([&done, pairs] {
      for (int i = 0; i < pairs; ++i) {
        void* pointer = nullptr;
        Check(cudaMalloc(&pointer, static_cast<std::size_t>(i) + 1), "malloc");
        Check(cudaFree(pointer), "free");
        ++done;
      }
    });
  for (std::thread& worker : workers) worker.join();
  std::printf("pairs %ld\n", done.load());
  return 0;
}

void* DieRudely(void* how) {
  void* kept = Allocate(1000 + reinterpret_cast<std::size_t>(how));
  switch (reinterpret_cast<std::size_t>(how) % 3) {
    case 0:
      pthread_exit(kept);
    case 1:
      syscall(SYS_exit, 0);  // no destructor of any kind runs
      break;
    default:
      pthread_cancel(pthread_self());
      pthread_testcancel();
  }
  return nullptr;
}

int Dying(int count) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (int t = 0; t < 3; ++t)
    busy.emplace_back([&stop] {
      for (int i = 0; i < 100 || !stop; ++i) {
        void* pointer = nullptr;
        Check(cudaMalloc(&pointer, 16), "malloc");
        Check(cudaFree(pointer), "free");
      }
    });
  for (int i = 0; i < count; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, DieRudely, reinterpret_cast<void*>(std::size_t(i))) != 0)
      return 5;
    pthread_join(thread, nullptr);
  }
  stop = true;
  for (std::thread& thread : busy) thread.join();
  return 0;
}

template <typename Measure>
int WithMeasure(const std::string& when, Measure measure) {
  if (when == "late") Free(Allocate(50));
  if (!measure()) return 6;
  GoOn();
  return 0;
}

bool LimitTo(int resource, rlim_t value) {
  const rlimit limit{value, value};
  return setrlimit(resource, &limit) == 0;
}

rlim_t AddressSpaceInUse() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  if (file == nullptr || std::fscanf(file, "%lu", &pages) != 1) std::_Exit(7);
  std::fclose(file);
  return pages * 4096;
}

std::atomic<int> g_handled{0};
std::atomic<int> g_elsewhere{0};
pid_t g_main = 0;

void Handle(int) {
  ++g_handled;
  if (static_cast<pid_t>(syscall(SYS_gettid)) != g_main) ++g_elsewhere;
}

int Signals() {
  g_main = getpid();
  Free(Allocate(50));
  struct sigaction action {};
  action.sa_handler = Handle;
  sigfillset(&action.sa_mask);
  for (int number = 1; number < NSIG; ++number) sigaction(number, &action, nullptr);
  for (int number = 1; number <= SIGRTMAX; ++number)
    if (number != SIGKILL && number != SIGSTOP && (number < 32 || number >= SIGRTMIN)) {
      kill(getpid(), number);
      Free(Allocate(static_cast<std::size_t>(number)));
    }
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  GoOn();
  std::printf("handled %d elsewhere %d\n", g_handled.load(), g_elsewhere.load());
  return 0;
}

#if defined(SYS_unlink)
constexpr unsigned kUnlink = SYS_unlink, kRename = SYS_rename;
#else  // newer architectures have the general ones only
constexpr unsigned kUnlink = SYS_unlinkat, kRename = SYS_renameat;
#endif

bool Forbid(unsigned error) {
  static const unsigned kForbidden[] = {
      SYS_membarrier,       SYS_fallocate,    SYS_flock,
      SYS_getrandom,        SYS_memfd_create, SYS_tgkill,
      SYS_mremap,           SYS_prctl,        SYS_ftruncate,
      SYS_statfs,           SYS_fstatfs,      kUnlink,
      SYS_process_vm_readv, kRename,          SYS_sched_setaffinity};
  std::vector<sock_filter> code;
  code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (const unsigned number : kForbidden) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

using GetStats = int (*)(memprof_stats*);

// memprof_get_stats of a recorder that the driver has loaded, which the linker does not see.
GetStats OfInjected() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  void* library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<GetStats>(dlsym(library, "memprof_get_stats"));
}

memprof_stats Stats() {
  memprof_stats stats{};
  stats.size = sizeof stats;
  const GetStats get = memprof_get_stats != nullptr ? memprof_get_stats : OfInjected();
  if (get == nullptr || get(&stats) != 0) stats.size = 0;
  return stats;
}

// 0 or 1; -1 when there is no recording that could be stopped or resumed.
int IsRecording() {
  const memprof_stats stats = Stats();
  return stats.size == 0 ? -1 : static_cast<int>(stats.recording);
}

// CUPTI starts to report slightly after recording has started.
void AllocateUntilCounted(std::size_t bytes) {
  const unsigned long before = Stats().counts[0];
  for (int i = 0; i < 10000; ++i) {
    Free(Allocate(bytes));
    if (IsRecording() != 1 || Stats().counts[0] != before) return;
    usleep(1000);
  }
}

int Toggle(const std::string& handler) {
  struct sigaction action {};
  action.sa_handler = Handle;
  if (handler == "own") sigaction(SIGUSR2, &action, nullptr);
  for (std::size_t bytes = 1000;; bytes += 1000) {
    AllocateUntilCounted(bytes);
    if (bytes == 4000) break;
    const int before = IsRecording();
    raise(SIGUSR2);
    // Another thread stops the recording; it also starts it if the driver loaded the recorder.
    const bool waits = before >= 0 || (memprof_get_stats == nullptr && OfInjected() != nullptr);
    for (int i = 0; i < 10000 && waits && IsRecording() == before; ++i) usleep(1000);
  }
  std::printf("handled %d\n", g_handled.load());
  return 0;
}

// Each `path` gives a new stack.
__attribute__((noinline)) void AllocateAt(unsigned path, int depth) {
  if (depth == 0) {
    void* pointer = nullptr;
    Check(cudaMalloc(&pointer, 512), "malloc");
  } else if (path % 2 == 0) {
    AllocateAt(path / 2, depth - 1);
  } else {
    AllocateAt(path / 2, depth - 1);
    asm volatile("");
    return;
  }
  asm volatile("");
}

int Endless() {
  for (unsigned path = 0; path < 1u << 17; ++path) AllocateAt(path, 17);
  std::string name(1000, 'n');
  for (int i = 0; i < 40000 && memprof_range_push != nullptr; ++i) {
    name.replace(0, 8, std::to_string(10'000'000 + i));
    memprof_range_push(name.c_str());
    memprof_range_pop();
  }
  std::printf("ended\n");
  return 0;
}

void* ForPlugin(unsigned long bytes) { return Allocate(bytes); }

int Plugin(const char* path) {
  for (unsigned long round = 1; round <= 3; ++round) {
    void* library = dlopen(path, RTLD_NOW);
    if (library == nullptr) return 8;
    using Function = void* (*)(void* (*)(unsigned long), unsigned long);
    const auto allocate = reinterpret_cast<Function>(dlsym(library, "plugin_allocate"));
    void* memory = allocate(ForPlugin, 1000 * round);
    dlclose(library);
    Free(memory);
    Free(Allocate(10 * round));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const std::string first = argc > 2 ? argv[2] : "";
  const std::string second = argc > 3 ? argv[3] : "";
  const int number = std::atoi(first.c_str());
  if (what == "flood") return Flood(number, std::atoi(second.c_str()));
  if (what == "dying") return Dying(number);
  if (what == "signals") return Signals();
  if (what == "plugin") return Plugin(first.c_str());
  if (what == "closeall") return WithMeasure("late", [] { return close_range(3, ~0u, 0) == 0; });
  if (what == "descriptors")
    return WithMeasure(second, [&] {
      // Descriptors inherited from the parent would count; early, there are no others yet.
      if (second == "early") close_range(3, ~0u, 0);
      return LimitTo(RLIMIT_NOFILE, static_cast<rlim_t>(number));
    });
  if (what == "filesize")
    return WithMeasure(second, [&] {
      g_quiet = true;
      return LimitTo(RLIMIT_FSIZE, static_cast<rlim_t>(number));
    });
  if (what == "address")
    return WithMeasure(second, [&] {
      return LimitTo(RLIMIT_AS, AddressSpaceInUse() + (static_cast<rlim_t>(number) << 20));
    });
  if (what == "seccomp")
    return WithMeasure(second, [&] { return Forbid(first == "EPERM" ? EPERM : ENOSYS); });
  if (what == "endless") return Endless();
  if (what == "toggle") return Toggle(first);
  if (what == "little")
    return WithMeasure("late", [&] {
      return LimitTo(RLIMIT_AS, AddressSpaceInUse() + (static_cast<rlim_t>(number) << 20)) &&
             raise(SIGUSR2) == 0;
    });
  if (what == "vanish")
    return WithMeasure("late", [&] { return std::system(("rm -rf " + first).c_str()) == 0; });
  if (what == "chdir")
    return WithMeasure("late", [] { return chdir("/") == 0 && close_range(3, ~0u, 0) == 0; });
  if (what == "malloc") {
    GoOn();
    std::printf("malloc %s\n", tiny_malloc_calls == nullptr ? "plain"
                               : tiny_malloc_calls() > 0    ? "used"
                                                            : "idle");
    return 0;
  }
  return 9;
}
