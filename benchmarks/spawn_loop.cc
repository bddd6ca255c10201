// Measures the start of a program: starts it many times, and waits for its end each time. With
// NAME=VALUE arguments, the variables are set only for the started programs.
// Prints one line: medians over the starts, in ns.
//
// usage: spawn_loop COUNT [NAME=VALUE...] PROGRAM [ARGUMENT...]
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

std::int64_t Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

std::int64_t CpuNs(const rusage& usage) {
  const auto ns = [](const timeval& time) {
    return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_usec * std::int64_t{1000};
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

std::int64_t Median(std::vector<std::int64_t>* values) {
  const auto middle = values->begin() + static_cast<long>(values->size() / 2);
  std::nth_element(values->begin(), middle, values->end());
  return *middle;
}

}  // namespace

int main(int argc, char** argv) {
  int program = 2;
  while (program < argc && std::strchr(argv[program], '=') != nullptr) ++program;
  const int count = argc > 1 ? std::atoi(argv[1]) : 0;
  if (program >= argc || count < 1) {
    std::fprintf(stderr, "usage: spawn_loop COUNT [NAME=VALUE...] PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  for (int i = 2; i < program; ++i) environment.push_back(argv[i]);
  environment.push_back(nullptr);

  std::vector<std::int64_t> wall;
  std::vector<std::int64_t> cpu;
  for (int i = 0; i < count; ++i) {
    const std::int64_t begin = Now();
    pid_t pid = 0;
    const int error =
        posix_spawn(&pid, argv[program], nullptr, nullptr, argv + program, environment.data());
    int status = 0;
    rusage usage{};
    if (error != 0 || wait4(pid, &status, 0, &usage) != pid || status != 0) {
      std::fprintf(stderr, "spawn_loop: %s: %s\n", argv[program],
                   error != 0 ? std::strerror(error) : "did not end with status 0");
      return 1;
    }
    wall.push_back(Now() - begin);
    cpu.push_back(CpuNs(usage));
  }
  std::printf("wall_ns=%lld cpu_ns=%lld\n", static_cast<long long>(Median(&wall)),
              static_cast<long long>(Median(&cpu)));
  return 0;
}
