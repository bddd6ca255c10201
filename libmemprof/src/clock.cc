// When the time-stamp counter may be used, and how its scale is kept.
#include "libmemprof/src/clock.h"

#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "libmemprof/src/sys.h"

namespace memprof::recorder {
namespace {

// Two readings of a clock that takes 20 ns are this far from each other, as a rule, at most.
constexpr std::uint64_t kCloseTicks = 1500;
constexpr int kMostTries = 16;
// The first scale runs ahead by this much: by more than the readings can be wrong, so that the
// change to it is no step back.
constexpr std::uint64_t kHeadStartNs = 100;
constexpr std::uint64_t kFirstPeriodNs = 20'000'000;
constexpr std::uint64_t kSecondPeriodNs = 200'000'000;
constexpr std::uint64_t kPeriodNs = 1'000'000'000;
constexpr std::uint64_t kLeastPeriodNs = 10'000'000;
// In how long an error is to be gone: long enough that a scale which is used for an hour, because
// nobody came to make the next one, does not lead far past the mark.
constexpr std::int64_t kCorrectionNs = 4'000'000'000;
// Further apart than a scale can have led: the machine slept, or was moved. A kernel that brings
// its clock to the right time changes its speed by a thousandth at the most.
constexpr std::uint64_t kMostErrorNs = 1'000'000;
constexpr std::uint64_t kMostErrorPart = 500;
constexpr std::uint32_t kTrimsPerLook = 64;

// Of the processor: runs at one speed in all states.
bool CounterIsInvariant() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
}

// Of the kernel: it has compared the counters of all processors, and goes on watching them.
bool KernelUsesCounter() {
  ErrnoKeeper keeper;
  char name[16] = "";
  const int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                      O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t length = read(fd, name, sizeof name - 1);
  close(fd);
  int may_read = 0;
  return length >= 4 && memcmp(name, "tsc\n", 4) == 0 &&
         prctl(PR_GET_TSC, &may_read, 0, 0, 0) == 0 && may_read == PR_TSC_ENABLE;
}

// Both clocks at one moment; false when something always came between.
bool ReadBoth(ClockKeeper::Reading* reading) {
  std::uint64_t closest = kCloseTicks;
  bool found = false;
  for (int i = 0; i < kMostTries; ++i) {
    const std::uint64_t before = ReadTicks();
    const std::uint64_t ns = SystemNs();
    const std::uint64_t taken = ReadTicks() - before;
    if (taken >= closest) continue;
    closest = taken;
    *reading = {before + taken / 2, ns};
    found = true;
  }
  return found;
}

struct Trimmer {
  Mutex mutex;
  ClockKeeper keeper;
  std::uint64_t due_ns = 0;
  std::uint32_t trims = 0;
  bool given_up = false;
};
Trimmer g_trimmer;

void Publish(const ClockScale& scale) {
  std::uint32_t number = g_clock.number.load(std::memory_order_relaxed) + 1;
  if (number == 0) number = 2;  // the same place
  PublishedScale& free = g_clock.scales[number % 2];
  // Whoever reads one of the new values then also finds the number of the scale in use now, which
  // is not the one that he came here by.
  free.base_ticks.store(scale.base_ticks, std::memory_order_release);
  free.base_ns.store(scale.base_ns, std::memory_order_release);
  free.ns_per_tick.store(scale.ns_per_tick, std::memory_order_release);
  g_clock.number.store(number, std::memory_order_release);
}

// To the kernel's clock for good, not back behind what was told last.
void GiveUp() {
  g_trimmer.given_up = true;
  if (g_clock.number.load(std::memory_order_relaxed) == 0) return;
  const std::uint64_t told = NowNs() + kClockToleranceNs;
  const std::uint64_t now = SystemNs();
  g_clock.ahead_ns.store(told > now ? told - now : 0, std::memory_order_relaxed);
  g_clock.number.store(0, std::memory_order_release);
}

}  // namespace

ClockState g_clock;

std::uint64_t SystemNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t ClockKeeper::period_ns() const {
  return readings_ <= 1 ? kFirstPeriodNs : readings_ == 2 ? kSecondPeriodNs : kPeriodNs;
}

ClockKeeper::Advice ClockKeeper::Next(const Reading& now, ClockScale* scale) {
  if (readings_ == 0) {
    readings_ = 1;
    last_ = now;
    return Advice::kWait;
  }
  const std::uint64_t ns = now.ns - last_.ns;
  const std::uint64_t ticks = now.ticks - last_.ticks;
  if (now.ns < last_.ns || now.ticks <= last_.ticks) return Advice::kStop;
  if (ns < kLeastPeriodNs) return Advice::kWait;
  std::int64_t error = kHeadStartNs;
  if (readings_ > 1) error = static_cast<std::int64_t>(AtTicks(scale_, now.ticks) - now.ns);
  const auto most = static_cast<std::int64_t>(kMostErrorNs + ns / kMostErrorPart);
  if (error > most || error < -most) return Advice::kStop;
  ++readings_;
  last_ = now;
  // As steep as was measured, and a little more or less; never so much that time stands still.
  const std::int64_t correction = std::clamp(error, -kCorrectionNs / 100, kCorrectionNs / 100);
  const Int128 speed = (Int128{ns} << 32) / ticks;
  scale_.base_ticks = now.ticks;
  scale_.base_ns = now.ns + static_cast<std::uint64_t>(error);
  scale_.ns_per_tick =
      static_cast<std::uint64_t>(speed * (kCorrectionNs - correction) / kCorrectionNs);
  *scale = scale_;
  return Advice::kScale;
}

std::uint64_t TrimClock() {
  constexpr std::uint64_t kNever = ~std::uint64_t{0};
  Trimmer& trimmer = g_trimmer;
  LockGuard lock(trimmer.mutex);
  if (trimmer.given_up) return kNever;
  const std::uint64_t now = SystemNs();
  if (now < trimmer.due_ns) return trimmer.due_ns - now;
  if (trimmer.trims++ % kTrimsPerLook == 0 && !(CounterIsInvariant() && KernelUsesCounter())) {
    GiveUp();
    return kNever;
  }
  ClockKeeper::Reading reading;
  ClockScale scale;
  if (ReadBoth(&reading)) {
    const ClockKeeper::Advice advice = trimmer.keeper.Next(reading, &scale);
    if (advice == ClockKeeper::Advice::kScale) Publish(scale);
    if (advice == ClockKeeper::Advice::kStop) {
      GiveUp();
      return kNever;
    }
  }
  trimmer.due_ns = now + trimmer.keeper.period_ns();
  return trimmer.keeper.period_ns();
}

void ResetClock() {
  g_clock.number.store(0, std::memory_order_relaxed);
  g_trimmer.mutex.Reset();
  g_trimmer.keeper = {};
  g_trimmer.due_ns = 0;
  g_trimmer.trims = 0;
}

}  // namespace memprof::recorder
