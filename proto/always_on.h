// The setting of a recording that is always on (MEMPROF_ALWAYS_ON, --always-on): how much may be
// written. Read by the recorder, and by the command, which says what is wrong with it before a
// program is started.
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cstddef>
#include <cstdint>

namespace memprof::log {

struct AlwaysOnBudget {
  static constexpr std::uint32_t kMostKept = 1000;
  static constexpr std::uint64_t kLeastBytes = 64 * 1024;
  static constexpr std::uint64_t kLeastPeriodNs = 1'000'000'000;

  std::uint64_t budget_bytes = 0;  // of a period; 0 = every event is kept
  std::uint64_t period_ns = 0;     // also the time after which the next segment begins
  std::uint32_t kept = 7;          // segments before the one that is written

  bool wanted() const { return budget_bytes != 0; }
};

namespace always_on_internal {

struct Unit {
  const char* name;
  std::uint64_t size;
};

inline constexpr std::uint64_t kSecond = 1'000'000'000;
inline constexpr Unit kSizes[] = {
    {"", 1},         {"B", 1},         {"KB", 1000},         {"MB", 1'000'000},
    {"GB", kSecond}, {"KiB", 1024},    {"MiB", 1024 * 1024}, {"GiB", 1u << 30},
    {"K", 1000},     {"M", 1'000'000}, {"G", kSecond}};
inline constexpr Unit kPeriods[] = {{"s", kSecond},
                                    {"min", 60 * kSecond},
                                    {"h", 3600 * kSecond},
                                    {"hour", 3600 * kSecond},
                                    {"d", 86400 * kSecond},
                                    {"day", 86400 * kSecond},
                                    {"week", 7 * 86400 * kSecond}};
inline constexpr std::uint64_t kMostOfAny = std::uint64_t{1} << 62;

// A number and a unit at `*text`, which is moved behind them. 0 if there is none.
template <std::size_t kCount>
std::uint64_t ReadAmount(const char** text, const Unit (&units)[kCount], std::uint64_t number) {
  char* end = nullptr;
  if (**text >= '0' && **text <= '9') {
    errno = 0;
    number = strtoull(*text, &end, 10);
    if (errno != 0) return 0;
    *text = end;
  }
  const std::size_t length = strcspn(*text, "/,");
  for (const Unit& unit : units) {
    if (strlen(unit.name) != length || strncmp(unit.name, *text, length) != 0) continue;
    *text += length;
    return number > kMostOfAny / unit.size ? 0 : number * unit.size;
  }
  return 0;
}

}  // namespace always_on_internal

// Reads "SIZE/PERIOD[,keep=N]", such as "10MB/day" or "500KiB/2h,keep=48". Sizes are bytes or have
// a unit from B to GB (powers of 1000) or GiB; periods have s, min, h, day or week, and a number
// before it or none. False, and `*result` is unchanged, if the text is no such setting or is below
// the least that makes sense.
inline bool ParseAlwaysOn(const char* text, AlwaysOnBudget* result) {
  AlwaysOnBudget read;
  read.budget_bytes = always_on_internal::ReadAmount(&text, always_on_internal::kSizes, 0);
  if (read.budget_bytes < AlwaysOnBudget::kLeastBytes || *text++ != '/') return false;
  read.period_ns = always_on_internal::ReadAmount(&text, always_on_internal::kPeriods, 1);
  if (read.period_ns < AlwaysOnBudget::kLeastPeriodNs) return false;
  if (*text != '\0') {
    static constexpr char kKeep[] = ",keep=";
    if (strncmp(text, kKeep, strlen(kKeep)) != 0) return false;
    text += strlen(kKeep);
    char* end = nullptr;
    const unsigned long kept = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || kept > AlwaysOnBudget::kMostKept)
      return false;
    read.kept = static_cast<std::uint32_t>(kept);
  }
  *result = read;
  return true;
}

}  // namespace memprof::log
