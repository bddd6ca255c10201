// A guest of the runtime API that starts, ends and forks in unusual ways. It prints its calls as
// "op layer address bytes".
//
//   threads N      N threads, one after another, each allocates and frees once
//   loop N         N allocations, then prints "done" and waits to be killed
//   exit HOW       one allocation, then ends by: return exit _exit abort quick_exit
//   late           allocations in a TLS destructor, a static destructor and an atexit function
//   daemons        four threads continue to allocate while main returns
//   fork           allocates, forks; the child allocates without initialising the driver again
//   exec           allocates, then replaces itself by "exec2", which allocates again
//   nothing        no CUDA at all
//   badfree        frees an address that was never allocated
//   forks N        forks N times while four threads allocate; every child throws and catches
//   spawns N       N times posix_spawn, vfork and exec, and system, while four threads allocate;
//                  then a child by the fork system call, which forks again and exits with all
//                  handlers
//   closefds       closes all descriptors above stderr and opens files with their numbers
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

void Check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %d\n", what, static_cast<int>(result));
  std::exit(3);
}

__attribute__((noinline)) void* Allocate(std::size_t bytes) {
  void* pointer = nullptr;
  Check(cudaMalloc(&pointer, bytes), "malloc");
  std::printf("alloc linear %llx %zu\n", reinterpret_cast<unsigned long long>(pointer), bytes);
  std::fflush(stdout);
  return pointer;
}

void Free(void* pointer) {
  std::printf("free linear %llx 0\n", reinterpret_cast<unsigned long long>(pointer));
  std::fflush(stdout);
  Check(cudaFree(pointer), "free");
}

struct FreesLate {
  void* pointer = nullptr;
  ~FreesLate() {
    if (pointer == nullptr) return;
    Free(pointer);
    Allocate(333);
  }
};
FreesLate g_static;
thread_local FreesLate t_local;
void* g_at_exit = nullptr;

int End(const std::string& how) {
  Allocate(4321);
  if (how == "exit") std::exit(7);
  if (how == "_exit") _exit(7);
  if (how == "abort") std::abort();
  if (how == "quick_exit") std::quick_exit(7);
  return 7;
}

int Late() {
  std::thread([] { t_local.pointer = Allocate(111); }).join();
  g_static.pointer = Allocate(222);
  g_at_exit = Allocate(444);
  std::atexit([] { Free(g_at_exit); });
  return 0;
}

// Detached threads that are in the middle of calls when the process ends.
int Daemons() {
  static std::atomic<int> warm{0};
  for (int t = 0; t < 4; ++t)
    std::thread([] {
      for (int i = 0;; ++i) {
        void* pointer = nullptr;
        if (cudaMalloc(&pointer, 64) == cudaSuccess) cudaFree(pointer);
        if (i == 100) ++warm;
      }
    }).detach();
  while (warm < 4) std::this_thread::yield();
  return 0;
}

int Fork() {
  Allocate(1000);
  const pid_t child = fork();
  if (child == 0) {
    // The parent's CUDA state cannot be used here; calls of this child must not reach the parent's
    // log.
    void* pointer = nullptr;
    cudaMalloc(&pointer, 2000);
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  Allocate(3000);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

// `depth` frames below the caller: new stacks, which the recorder must unwind.
__attribute__((noinline)) void AllocateDeep(int depth) {
  if (depth > 0) {
    AllocateDeep(depth - 1);
    asm volatile("");
    return;
  }
  void* pointer = nullptr;
  Check(cudaMalloc(&pointer, 64), "malloc");
  Check(cudaFree(pointer), "free");
}

int ForkWhileAllocating(int forks) {
  AllocateDeep(0);  // recording begins before the first fork
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&stop, t] {
      for (int i = t; !stop; ++i) AllocateDeep(i % 40);
    });
  for (int i = 0; i < forks; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      // All of these need locks of the loader or the C++ runtime.
      try {
        throw 1;
      } catch (int) {
      }
      void* library = dlopen("libm.so.6", RTLD_NOW);
      _exit(library == nullptr ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) return 97;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  return 0;
}

int StatusOf(pid_t child) {
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

// Runs in the memory of its parent until it calls exec.
int SpawnByVfork(char* const* arguments) {
  const pid_t child = vfork();
  if (child == 0) {
    execv(arguments[0], arguments);
    _exit(96);
  }
  return StatusOf(child);
}

int SpawnByPosix(char* const* arguments) {
  pid_t child = 0;
  if (posix_spawn(&child, arguments[0], nullptr, nullptr, arguments, environ) != 0) return -1;
  return StatusOf(child);
}

// No fork handlers run at this fork.
int ForkBare() {
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (child != 0) return StatusOf(child);
  void* pointer = nullptr;
  cudaMalloc(&pointer, 5000);
  const pid_t grandchild = fork();
  if (grandchild == 0) std::exit(0);
  std::exit(StatusOf(grandchild) == 0 ? 0 : 95);
}

int Spawns(int count) {
  Allocate(77);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&stop, t] {
      for (int i = t; !stop; ++i) AllocateDeep(i % 40);
    });
  char program[] = "/bin/true";
  char* const arguments[] = {program, nullptr};
  int failed = 0;
  for (int i = 0; i < count; ++i) {
    if (SpawnByVfork(arguments) != 0) ++failed;
    if (SpawnByPosix(arguments) != 0) ++failed;
    if (i % 4 == 0 && std::system("true") != 0) ++failed;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  if (ForkBare() != 0) ++failed;
  Allocate(78);
  std::printf("failed %d\n", failed);
  return failed;
}

int CloseDescriptors(const char* directory) {
  Allocate(50);
  // Like daemons: closes all descriptors that it does not know.
  for (int fd = 3; fd < 5000; ++fd) close(fd);
  for (int i = 0; i < 1000; ++i)
    open((std::string(directory) + "/victim" + std::to_string(i)).c_str(), O_CREAT | O_RDWR, 0600);
  for (int i = 0; i < 3000; ++i) Free(Allocate(60));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "nothing";
  const std::string argument = argc > 2 ? argv[2] : "";
  if (what == "threads") {
    for (int i = 0; i < std::atoi(argument.c_str()); ++i)
      std::thread([i] { Free(Allocate(static_cast<std::size_t>(i) + 1)); }).join();
  } else if (what == "loop") {
    for (int i = 0; i < std::atoi(argument.c_str()); ++i) {
      void* pointer = nullptr;
      Check(cudaMalloc(&pointer, static_cast<std::size_t>(i) + 1), "malloc");
      if (i % 2 == 1) Check(cudaFree(pointer), "free");
    }
    std::printf("done\n");
    std::fflush(stdout);
    for (;;) pause();
  } else if (what == "exit") {
    return End(argument);
  } else if (what == "late") {
    return Late();
  } else if (what == "daemons") {
    return Daemons();
  } else if (what == "fork") {
    return Fork();
  } else if (what == "exec") {
    Allocate(10);
    execl(argv[0], argv[0], "exec2", nullptr);
    return 98;
  } else if (what == "exec2") {
    Allocate(20);
  } else if (what == "badfree") {
    Allocate(30);
    std::printf("result %d\n", static_cast<int>(cudaFree(reinterpret_cast<void*>(0x1230))));
  } else if (what == "forks") {
    return ForkWhileAllocating(std::atoi(argument.c_str()));
  } else if (what == "spawns") {
    return Spawns(std::atoi(argument.c_str()));
  } else if (what == "closefds") {
    return CloseDescriptors(argument.c_str());
  } else {
    std::printf("nothing\n");
  }
  return 0;
}
