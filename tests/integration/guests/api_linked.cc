// A guest that links libmemprof and tells it about steps, ranges, tensors, segments and blocks.
// Prints the results of calls and the statistics.
#include <cuda.h>
#include <memprof/memprof.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

// CUDA does not survive a fork: a child may use it only where its parent has not. The parent was
// recording already, though.
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

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "all";
  if (what == "idle") {  // nothing records: every call must be harmless
    std::printf("%d %d %d %d %d\n", memprof_step(1), memprof_range_push("r"), memprof_range_pop(),
                memprof_flush(), memprof_tensor_destroy(0, nullptr));
    return 0;
  }
  if (what == "fork") return Fork();
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
