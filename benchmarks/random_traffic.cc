// A program that the benchmarks of the log's size and the writer's rate record: threads that
// allocate and free at random, up to a few hundred blocks at a time, by many call paths. The worst
// case for a log: no steps, and no pattern in sizes, addresses or lifetimes. Prints one line: the
// number of calls, and the time that they took.
#include <time.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "benchmarks/guest.h"

namespace {

constexpr std::size_t kMaxBlocks = 256;

struct Walk {
  std::mt19937_64 random;
  std::vector<unsigned long long> live;
  bool failed = false;

  void Call() {
    if (live.empty() || (live.size() < kMaxBlocks && random() % 2 == 0)) {
      // Sizes of every magnitude up to 256 KiB.
      const std::size_t bytes = 1 + (random() & ((std::uint64_t{2} << random() % 18) - 1));
      unsigned long long pointer = 0;
      failed |= guest::g_allocate(&pointer, bytes) != 0;
      live.push_back(pointer);
    } else {
      const std::size_t which = random() % live.size();
      failed |= guest::g_free(live[which]) != 0;
      live[which] = live.back();
      live.pop_back();
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: random_traffic THREADS CALLS STACKS SEED\n");
    return 2;
  }
  const int threads = std::atoi(argv[1]);
  const long calls = std::atol(argv[2]);
  const auto stacks = static_cast<std::uint64_t>(std::atol(argv[3]));
  const auto seed = static_cast<std::uint64_t>(std::atol(argv[4]));
  if (threads < 1 || stacks < 1 || !guest::LoadDriver()) {
    std::fprintf(stderr, "random_traffic: bad arguments, or no usable libcuda.so.1\n");
    return 1;
  }
  timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  std::atomic<bool> failed{false};
  std::vector<std::thread> workers;
  workers.reserve(static_cast<std::size_t>(threads));
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([=, &failed] {
      Walk walk{std::mt19937_64(seed * 1000 + static_cast<unsigned>(t)),
                {},
                guest::g_set_current(guest::g_context) != 0};
      for (long i = 0; i < calls; ++i) {
        guest::Descend(walk.random() % stacks, guest::kDepth, [&walk] { walk.Call(); });
      }
      if (walk.failed) failed = true;
    });
  }
  for (std::thread& worker : workers) worker.join();
  clock_gettime(CLOCK_MONOTONIC, &end);
  const double seconds = static_cast<double>(end.tv_sec - begin.tv_sec) +
                         static_cast<double>(end.tv_nsec - begin.tv_nsec) * 1e-9;
  std::printf("calls=%ld seconds=%.6f\n", calls * threads, seconds);
  return failed ? 1 : 0;
}
