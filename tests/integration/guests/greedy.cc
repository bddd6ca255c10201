// A guest that makes a recorder store very much: greedy STACKS BLOCKS THREADS NAMES makes 2^STACKS
// different call stacks, BLOCKS live blocks, THREADS threads at once with a hundred stacks each,
// and NAMES range names of a kilobyte. Two rounds of threads: the second starts when the first has
// ended.
//
// Prints its allocations, its maximum memory (VmHWM), and the mapped bytes and the file's bytes of
// a recorder's ring: "allocations N peak N ring_mapped N ring_file N".
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

extern "C" {
int memprof_range_push(const char* name) __attribute__((weak));
int memprof_range_pop() __attribute__((weak));
}

namespace {

std::atomic<long> g_allocations{0};
std::atomic<int> g_arrived{0};
std::atomic<bool> g_may_end{false};

void Allocate(bool keep) {
  void* pointer = nullptr;
  if (cudaMalloc(&pointer, 64) != cudaSuccess) std::abort();
  ++g_allocations;
  if (!keep && cudaFree(pointer) != cudaSuccess) std::abort();
}

// Every path through the two calls is a different stack.
__attribute__((noinline)) void AllocateAt(unsigned path, int depth) {
  if (depth == 0) {
    Allocate(false);
  } else if (path % 2 == 0) {
    AllocateAt(path / 2, depth - 1);
  } else {
    AllocateAt(path / 2, depth - 1);
    asm volatile("");
    return;
  }
  asm volatile("");
}

void* InThread(void* number) {
  const auto first = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(number)) * 100;
  for (unsigned path = first; path < first + 100; ++path) AllocateAt(path, 17);
  ++g_arrived;
  while (!g_may_end) {
    timespec moment{0, 5'000'000};
    nanosleep(&moment, nullptr);
  }
  return nullptr;
}

void Threads(int count) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 128 * 1024);
  g_arrived = 0;
  g_may_end = false;
  std::vector<pthread_t> threads(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < threads.size(); ++i)
    if (pthread_create(&threads[i], &small, InThread, reinterpret_cast<void*>(i)) != 0)
      std::abort();
  while (g_arrived < count) {
    timespec moment{0, 1'000'000};
    nanosleep(&moment, nullptr);
  }
  g_may_end = true;
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
}

// The number behind `key` in a line like "VmHWM:   123 kB", in bytes.
long Kilobytes(const std::string& line, const char* key) {
  return line.rfind(key, 0) == 0 ? std::atol(line.c_str() + std::strlen(key)) * 1024 : -1;
}

long Peak() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (const long bytes = Kilobytes(line, "VmHWM:"); bytes >= 0) return bytes;
  return 0;
}

void PrintMemory() {
  const long peak = Peak();
  long mapped = 0, file = 0;
  bool in_ring = false;
  std::ifstream maps("/proc/self/smaps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find('-') < line.find(' ')) {  // "7f00-7f10 rw-s ... PATH"
      in_ring = line.size() > 11 && line.compare(line.size() - 11, 11, ".mprof.ring") == 0;
      struct stat status;
      if (in_ring && stat(line.substr(line.find('/')).c_str(), &status) == 0)
        file = status.st_blocks * 512;
    } else if (const long rss = Kilobytes(line, "Rss:"); in_ring && rss > 0) {
      mapped += rss;
    }
  }
  std::printf("allocations %ld peak %ld ring_mapped %ld ring_file %ld\n", g_allocations.load(),
              peak, mapped, file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 9;
  const int depth = std::atoi(argv[1]), blocks = std::atoi(argv[2]), names = std::atoi(argv[4]);
  for (int round = 0; round < 2; ++round) Threads(std::atoi(argv[3]));
  for (int i = 0; i < blocks; ++i) Allocate(true);
  for (unsigned path = 0; path < 1u << depth; ++path) AllocateAt(path, depth);
  std::string name(1000, 'n');
  for (int i = 0; i < names && memprof_range_push != nullptr; ++i) {
    name.replace(0, 8, std::to_string(10'000'000 + i));
    memprof_range_push(name.c_str());
    memprof_range_pop();
  }
  PrintMemory();
  return 0;
}
