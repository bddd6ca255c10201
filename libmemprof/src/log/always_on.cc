// Parses budgets such as "10MB/day".
#include "libmemprof/src/log/always_on.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

namespace memprof::recorder {
namespace {

struct Unit {
  const char* name;
  std::uint64_t size;
};

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr Unit kSizes[] = {
    {"", 1},         {"B", 1},         {"KB", 1000},         {"MB", 1'000'000},
    {"GB", kSecond}, {"KiB", 1024},    {"MiB", 1024 * 1024}, {"GiB", 1u << 30},
    {"K", 1000},     {"M", 1'000'000}, {"G", kSecond}};
constexpr Unit kPeriods[] = {{"s", kSecond},
                             {"min", 60 * kSecond},
                             {"h", 3600 * kSecond},
                             {"hour", 3600 * kSecond},
                             {"d", 86400 * kSecond},
                             {"day", 86400 * kSecond},
                             {"week", 7 * 86400 * kSecond}};
constexpr std::uint64_t kMostOfAny = std::uint64_t{1} << 62;

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

}  // namespace

bool ParseAlwaysOn(const char* text, AlwaysOn* result) {
  AlwaysOn read;
  read.budget_bytes = ReadAmount(&text, kSizes, 0);
  if (read.budget_bytes < AlwaysOn::kLeastBytes || *text++ != '/') return false;
  read.period_ns = ReadAmount(&text, kPeriods, 1);
  if (read.period_ns < AlwaysOn::kLeastPeriodNs) return false;
  if (*text != '\0') {
    static constexpr char kKeep[] = ",keep=";
    if (strncmp(text, kKeep, strlen(kKeep)) != 0) return false;
    text += strlen(kKeep);
    char* end = nullptr;
    const unsigned long kept = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || kept > AlwaysOn::kMostKept) return false;
    read.kept = static_cast<std::uint32_t>(kept);
  }
  *result = read;
  return true;
}

}  // namespace memprof::recorder
