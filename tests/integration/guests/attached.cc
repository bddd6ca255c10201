// A program to which memprof is attached while it runs. It prints its calls as "op layer address
// bytes", and computes on: a register that came back wrong would change its sums.
//
//   waits    allocates and frees, and sleeps between; a second thread computes
//   busy     one thread, which computes and allocates, and never sleeps
//   sleeps   one thread, which sleeps for two seconds at a time
//
// Ends when its standard input does.
#include <cuda_runtime_api.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

// Integers and doubles in as many registers as the compiler likes; the result is known.
__attribute__((noinline)) bool Computes(std::uint64_t seed) {
  std::uint64_t words[4] = {seed, seed + 1, seed + 2, seed + 3};
  double values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (int i = 0; i < 20000; ++i) {
    for (auto& word : words) word = word * 6364136223846793005u + 1442695040888963407u;
    for (auto& value : values) value = value * 0.5 + 1;
  }
  // The values converge to 2; words by the closed form of the generator.
  std::uint64_t factor = 1, addend = 0;
  for (int i = 0; i < 20000; ++i) {
    addend = addend * 6364136223846793005u + 1442695040888963407u;
    factor *= 6364136223846793005u;
  }
  for (int i = 0; i < 4; ++i)
    if (words[i] != (seed + static_cast<std::uint64_t>(i)) * factor + addend) return false;
  for (const double value : values)
    if (value != 2.0) return false;
  return true;
}

std::atomic<bool> g_wrong{false}, g_ends{false};

void ComputeOn() {
  for (std::uint64_t seed = 1; !g_ends.load(); ++seed)
    if (!Computes(seed)) g_wrong = true;
}

bool InputHasEnded() {
  pollfd input{0, POLLIN, 0};
  char byte;
  return poll(&input, 1, 0) > 0 && read(0, &byte, 1) <= 0;
}

void Fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::exit(3);
}

// In one call: interrupted sleeps of others are often begun again unnoticed.
int Sleep() {
  while (!InputHasEnded()) {
    std::printf("sleeps\n");
    std::fflush(stdout);
    timespec begin, end;
    const timespec two_seconds{2, 0};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (nanosleep(&two_seconds, nullptr) != 0) Fail("a sleep was interrupted");
    clock_gettime(CLOCK_MONOTONIC, &end);
    const double slept = static_cast<double>(end.tv_sec - begin.tv_sec) +
                         static_cast<double>(end.tv_nsec - begin.tv_nsec) * 1e-9;
    if (slept < 2) Fail("a sleep was too short");
  }
  std::printf("ended\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "sleeps") == 0) return Sleep();
  const bool busy = argc > 1 && std::strcmp(argv[1], "busy") == 0;
  std::thread other;
  if (!busy) other = std::thread(ComputeOn);
  std::vector<void*> live;
  for (std::uint64_t i = 0; !InputHasEnded(); ++i) {
    if (live.size() < 20) {
      const std::size_t bytes = 1000 + i % 977;
      void* pointer = nullptr;
      if (cudaMalloc(&pointer, bytes) != cudaSuccess) Fail("malloc");
      std::printf("alloc linear %llx %zu\n", reinterpret_cast<unsigned long long>(pointer), bytes);
      live.push_back(pointer);
    } else {
      const auto at = live.begin() + static_cast<std::ptrdiff_t>(i % live.size());
      std::printf("free linear %llx 0\n", reinterpret_cast<unsigned long long>(*at));
      if (cudaFree(*at) != cudaSuccess) Fail("free");
      live.erase(at);
    }
    std::fflush(stdout);
    if (!Computes(i)) g_wrong = true;
    if (!busy) usleep(1000);
  }
  g_ends = true;
  if (other.joinable()) other.join();
  if (g_wrong) Fail("a sum is wrong");
  std::printf("ended\n");
  return 0;
}
