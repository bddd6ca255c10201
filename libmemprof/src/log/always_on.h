// The setting of a recording that is always on (MEMPROF_ALWAYS_ON): how much may be written.
#pragma once

#include <cstdint>

namespace memprof::recorder {

struct AlwaysOn {
  static constexpr std::uint32_t kMostKept = 1000;
  static constexpr std::uint64_t kLeastBytes = 64 * 1024;
  static constexpr std::uint64_t kLeastPeriodNs = 1'000'000'000;

  std::uint64_t budget_bytes = 0;  // of a period; 0 = every event is kept
  std::uint64_t period_ns = 0;     // also the time after which the next segment begins
  std::uint32_t kept = 7;          // segments before the one that is written

  bool wanted() const { return budget_bytes != 0; }
};

// Reads "SIZE/PERIOD[,keep=N]", such as "10MB/day" or "500KiB/2h,keep=48". Sizes are bytes or have
// a unit from B to GB (powers of 1000) or GiB; periods have s, min, h, day or week, and a number
// before it or none. False, and `*result` is unchanged, if the text is no such setting or is below
// the least that makes sense.
bool ParseAlwaysOn(const char* text, AlwaysOn* result);

}  // namespace memprof::recorder
