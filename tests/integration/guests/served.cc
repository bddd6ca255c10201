// A program that runs for SECONDS as a server does: steps with memory that soon ends, and a leak in
// every tenth. Then it asks for too much, and exits; or it is killed by itself. Prints the steps
// and what it has leaked.
//
// usage: guest_served SECONDS exit|kill|unmarked: without marks of steps
#include <cuda.h>
#include <memprof/memprof.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static double Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

__attribute__((noinline)) static CUdeviceptr LeakHere() {
  CUdeviceptr address = 0;
  if (cuMemAlloc(&address, 4096) != CUDA_SUCCESS) std::exit(3);
  return address;
}

__attribute__((noinline)) static void SoonFreed(int step) {
  CUdeviceptr addresses[100];
  for (int i = 0; i < 100; ++i)
    if (cuMemAlloc(&addresses[i], 512u << (i + step) % 12) != CUDA_SUCCESS) std::exit(4);
  for (const CUdeviceptr address : addresses) cuMemFree(address);
}

int main(int argc, char** argv) {
  CUcontext context = nullptr;
  if (argc < 3 || cuInit(0) != CUDA_SUCCESS ||
      cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
      cuCtxSetCurrent(context) != CUDA_SUCCESS)
    return 2;
  const bool marked = std::strcmp(argv[2], "unmarked") != 0;
  const double end = Now() + std::atof(argv[1]);
  int step = 0, leaked = 0;
  for (; Now() < end; ++step) {
    if (marked) memprof_step(static_cast<std::uint64_t>(step));
    SoonFreed(step);
    if (step % 10 == 0) leaked += LeakHere() != 0;
    usleep(2000);
  }
  std::printf("steps %d\nleaked %d\n", step, leaked);
  std::fflush(stdout);
  if (std::strcmp(argv[2], "kill") == 0) kill(getpid(), SIGKILL);
  CUdeviceptr too_much = 0;
  std::printf("result %d\n", static_cast<int>(cuMemAlloc(&too_much, std::size_t{1} << 50)));
  return 0;
}
