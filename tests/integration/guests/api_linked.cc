// A guest that links libmemprof and reports steps, ranges, tensors, segments and blocks to it.
// Prints the results of calls and the statistics.
#include <cuda.h>
#include <memprof/memprof.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

// CUDA cannot be used in a child after a fork if the parent has used it. Here the parent only
// records.
static int Fork() {
  memprof_start();
  memprof_step(1);
  const pid_t child = fork();
  if (child == 0) {
    CUcontext context = nullptr;
    CUdeviceptr own = 0;
    if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        cuCtxSetCurrent(context) != CUDA_SUCCESS)
      _exit(5);
    std::printf("child %d\n", static_cast<int>(cuMemAlloc(&own, 2000)));
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  memprof_step(2);
  std::printf("pid %d\n", static_cast<int>(child));
  return WEXITSTATUS(status);
}

static volatile std::sig_atomic_t g_may_go_on = 0;

// A child that uses CUDA and lives longer than its parent, which is killed after 1000 steps.
static int ForkAndLive() {
  memprof_start();
  std::signal(SIGUSR1, [](int) { g_may_go_on = 1; });
  sigset_t usr1, before;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  sigprocmask(SIG_BLOCK, &usr1, &before);
  int ready[2];
  if (pipe(ready) != 0) return 4;
  if (fork() == 0) {
    alarm(100);  // in case it is not killed
    CUcontext context = nullptr;
    CUdeviceptr own = 0;
    if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        cuCtxSetCurrent(context) != CUDA_SUCCESS || cuMemAlloc(&own, 1000) != CUDA_SUCCESS)
      _exit(5);
    std::printf("child %d\n", static_cast<int>(getpid()));
    std::fflush(stdout);
    if (write(ready[1], "", 1) != 1) _exit(6);
    while (g_may_go_on == 0) sigsuspend(&before);
    for (int i = 0; i < 500; ++i)
      if (cuMemAlloc(&own, 2000) != CUDA_SUCCESS) _exit(7);
    std::printf("went on\n");
    std::fflush(stdout);
    for (;;) pause();
  }
  close(ready[1]);  // so that the end of the child ends the wait
  char byte;
  if (read(ready[0], &byte, 1) != 1) return 4;
  for (int step = 1; step <= 1000; ++step) memprof_step(static_cast<unsigned>(step));
  std::printf("stepped\n");
  std::fflush(stdout);
  for (;;) pause();
}

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "all";
  if (what == "idle") {  // nothing is recorded: every call must be harmless
    std::printf("%d %d %d %d %d\n", memprof_step(1), memprof_range_push("r"), memprof_range_pop(),
                memprof_flush(), memprof_tensor_destroy(0, nullptr));
    return 0;
  }
  if (what == "fork") return Fork();
  if (what == "forklive") return ForkAndLive();
  if (what == "start") std::printf("start %d\n", memprof_start());
  if (cuInit(0) != CUDA_SUCCESS) return 3;
  CUcontext context = nullptr;
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  memprof_step(1);
  memprof_range_push("forward \xff pass");
  CUdeviceptr segment = 0;
  if (cuMemAlloc(&segment, 1 << 20) != CUDA_SUCCESS) return 3;
  auto* base = reinterpret_cast<char*>(segment);
  memprof_segment_create(0, base, 1 << 20, nullptr);
  memprof_block_create(0, base + 512, 2048, 2000, nullptr);
  const int64_t shape[] = {2, 3, 4};
  memprof_tensor_create(0, base + 512, 96, "weights", "float32", 3, shape);
  memprof_range_pop();
  memprof_snapshot("middle");
  std::printf("invalid %d %d\n", memprof_tensor_create(0, base, 1, nullptr, "x", 0, nullptr),
              memprof_tensor_create(0, base, 1, "t", "x", MEMPROF_MAX_RANK + 1, shape));
  memprof_tensor_destroy(0, base + 512);
  memprof_block_destroy(0, base + 512);
  memprof_segment_destroy(0, base);
  memprof_framework_oom(0, 12345, 100, 200);
  memprof_stop();
  CUdeviceptr unseen = 0;
  cuMemAlloc(&unseen, 7777);
  memprof_start();
  memprof_step(2);
  cuMemFree(segment);
  struct memprof_stats stats;
  std::memset(&stats, 0, sizeof stats);
  stats.size = sizeof stats;
  std::printf("stats %d\n", memprof_get_stats(&stats));
  std::printf("allocations %llu frees %llu live %llu peak %llu lost %llu recording %u\n",
              static_cast<unsigned long long>(stats.allocations),
              static_cast<unsigned long long>(stats.frees),
              static_cast<unsigned long long>(stats.live_bytes),
              static_cast<unsigned long long>(stats.peak_bytes),
              static_cast<unsigned long long>(stats.events_lost), stats.recording);
  std::printf("flush %d\n", memprof_flush());
  return 0;
}
