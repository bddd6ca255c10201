// How many bytes of a period's budget may be written by now: a tenth at once, for names and the
// first steps, and the rest as time passes. What was not used stays for later in the period.
#pragma once

#include <algorithm>
#include <cstdint>

#include "proto/always_on.h"

namespace memprof::recorder {

class Allowance {
 public:
  explicit Allowance(const log::AlwaysOnBudget& settings)
      : budget_(static_cast<double>(settings.budget_bytes)),
        period_ns_(static_cast<double>(settings.period_ns)) {}

  void Begin(std::uint64_t now_ns) { begin_ns_ = now_ns; }
  bool IsOver(std::uint64_t now_ns) const { return Elapsed(now_ns) >= 1; }
  // Bytes; below 0 after more was spent.
  double Left(std::uint64_t now_ns, double spent) const {
    const double elapsed = Elapsed(now_ns);
    return budget_ * (kAtOnce + (1 - kAtOnce - kReserve) * (elapsed < 1 ? elapsed : 1)) - spent;
  }
  // Of the whole period, but for what estimates of sizes may be wrong.
  double Rest(double spent) const { return budget_ * (1 - kReserve) - spent; }
  double budget() const { return budget_; }
  double at_once() const { return budget_ * kAtOnce; }
  // What comes to what is left in `ns`.
  double In(std::uint64_t ns) const {
    return budget_ * (1 - kAtOnce - kReserve) * static_cast<double>(ns) / period_ns_;
  }
  double per_ns() const { return budget_ / period_ns_; }
  // At least a second, and at most a twentieth of the period.
  std::uint64_t TimeFor(double bytes) const {
    constexpr double kSecond = 1e9;
    return static_cast<std::uint64_t>(
        std::clamp(bytes / per_ns(), kSecond, std::max(kSecond, period_ns_ / 20)));
  }
  // The share of what is left that may be spent on what takes `ns`: all after a fiftieth of the
  // period.
  double Share(std::uint64_t ns) const {
    const double share = static_cast<double>(ns) * kPartsOfPeriod / period_ns_;
    return share < 1 ? share : 1;
  }

 private:
  static constexpr double kAtOnce = 0.1, kReserve = 0.05;
  static constexpr double kPartsOfPeriod = 50;

  double Elapsed(std::uint64_t now_ns) const {
    return now_ns <= begin_ns_ ? 0 : static_cast<double>(now_ns - begin_ns_) / period_ns_;
  }

  double budget_;
  double period_ns_;
  std::uint64_t begin_ns_ = 0;
};

}  // namespace memprof::recorder
