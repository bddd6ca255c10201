// The clock of all times in the log: CLOCK_MONOTONIC in nanoseconds, inline.
//
// Every event reads the clock, which is a third to a half of what an event costs; what is saved by
// not asking clock_gettime depends on the machine and the moment (benchmarks/recorder_parts). Where
// the kernel itself keeps its time by the processor's time-stamp counter, so does this clock: a scale,
// made by the writer thread from pairs of readings, turns ticks into nanoseconds. Until there is a
// scale, and where the kernel does not trust the counter, NowNs is clock_gettime.
//
//   ns |              , . '   Each scale begins where the last one has arrived, and is as steep
//      |        , - ' `         as it takes to meet CLOCK_MONOTONIC soon: the clock never jumps
//      |   , . '                and never goes back.
//      +---+----+-------+---- ticks
//
// Thread-safe, and never waits: readers check a number that changes with the scale.
#pragma once

#include <x86intrin.h>

#include <atomic>
#include <cstdint>

namespace memprof::recorder {

// CLOCK_MONOTONIC in nanoseconds.
std::uint64_t SystemNs();

// ns = base_ns + (ticks - base_ticks) * ns_per_tick / 2^32
struct ClockScale {
  std::uint64_t base_ticks;
  std::uint64_t base_ns;
  std::uint64_t ns_per_tick;  // 32.32 bits
};

struct PublishedScale {
  std::atomic<std::uint64_t> base_ticks;
  std::atomic<std::uint64_t> base_ns;
  std::atomic<std::uint64_t> ns_per_tick;
};

struct alignas(64) ClockState {
  std::atomic<std::uint32_t> number;  // of the scale in use, in scales[number % 2]; 0 = none
  PublishedScale scales[2];
  std::atomic<std::uint64_t> ahead_ns;  // of SystemNs, where there is no scale any more
};
extern ClockState g_clock;

// The counter, not before the loads of the program that come before: what a thread learned from
// another has a later time than what that one has recorded.
inline std::uint64_t ReadTicks() {
  _mm_lfence();
  return __rdtsc();
}

__extension__ using Int128 = __int128;

inline std::uint64_t AtTicks(const ClockScale& scale, std::uint64_t ticks) {
  const auto since = static_cast<std::int64_t>(ticks - scale.base_ticks);
  return scale.base_ns + static_cast<std::uint64_t>(Int128{since} * scale.ns_per_tick >> 32);
}

// Nanoseconds of CLOCK_MONOTONIC, to within a microsecond.
inline std::uint64_t NowNs() {
  for (;;) {
    const std::uint32_t number = g_clock.number.load(std::memory_order_acquire);
    if (number == 0) return SystemNs() + g_clock.ahead_ns.load(std::memory_order_relaxed);
    const PublishedScale& published = g_clock.scales[number % 2];
    const ClockScale scale{published.base_ticks.load(std::memory_order_acquire),
                           published.base_ns.load(std::memory_order_acquire),
                           published.ns_per_tick.load(std::memory_order_acquire)};
    const std::uint64_t ticks = ReadTicks();
    // The two places are written in turn: this one only after the number has changed.
    if (g_clock.number.load(std::memory_order_relaxed) == number) return AtTicks(scale, ticks);
  }
}

// Two threads that read the clock at the same time may find it this far apart.
inline constexpr std::uint64_t kClockToleranceNs = 1000;

// Makes the next scale if it is time; returns in how many ns it will be again. To be called by the
// writer thread now and then: late calls only make the clock less exact.
std::uint64_t TrimClock();
// Back to clock_gettime. For a forked child, in whose copy a scale may be half written.
void ResetClock();

// What TrimClock decides, from readings of both clocks taken together. Not thread-safe.
class ClockKeeper {
 public:
  struct Reading {
    std::uint64_t ticks;
    std::uint64_t ns;
  };
  enum class Advice {
    kWait,   // there is no scale yet
    kScale,  // *scale goes on from here
    kStop,   // the two clocks no longer agree, or never did
  };
  Advice Next(const Reading& now, ClockScale* scale);
  // Until the next reading is wanted.
  std::uint64_t period_ns() const;

 private:
  int readings_ = 0;
  Reading last_{};
  ClockScale scale_{};
};

}  // namespace memprof::recorder
