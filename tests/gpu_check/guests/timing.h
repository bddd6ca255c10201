// The cost of a call, measured by several loops of a few hundredths of a second.
#pragma once

#include <time.h>

#include <cstdint>
#include <string>
#include <vector>

namespace memprof::gpu_check {

inline std::int64_t Now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

// ns per iteration of each of `repeats` loops. `iterations` receives the total number.
template <typename Body>
std::vector<double> Measure(int repeats, const Body& body, long* iterations) {
  constexpr std::int64_t kLoopNs = 20'000'000;
  long portion = 1;
  std::int64_t took = 0;
  *iterations = 0;
  while (took < kLoopNs / 4 && portion < 10'000'000) {
    if (took > 0 || portion == 1) portion *= 4;
    const std::int64_t begin = Now();
    for (long i = 0; i < portion; ++i) body();
    took = Now() - begin;
    *iterations += portion;
  }
  std::vector<double> result;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const std::int64_t begin = Now();
    for (long i = 0; i < portion; ++i) body();
    result.push_back(static_cast<double>(Now() - begin) / static_cast<double>(portion));
    *iterations += portion;
  }
  return result;
}

inline std::string List(const std::vector<double>& values) {
  std::string text = "[";
  for (const double value : values) text += (text == "[" ? "" : ",") + std::to_string(value);
  return text + "]";
}

}  // namespace memprof::gpu_check
