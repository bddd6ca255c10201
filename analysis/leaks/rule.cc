// Generation evidence with a guard: see docs/leaks.md.
#include "analysis/leaks/rule.h"

#include <algorithm>
#include <cmath>

namespace memprof::analysis {
namespace {

constexpr double kSignificance = 0.02;  // with a lower value, births are becoming rarer
// The same if each survivor has a different size, like the entries of a cache.
constexpr double kSignificanceOfKeys = 0.35;
constexpr double kMinSpan = 0.3;   // of the window, between first and last birth
constexpr double kFullSpan = 0.5;  // from here on the span no longer lowers the score

// How much of the growth that is never freed again happened in the window's second half, doubled
// and capped at 1: 1 for steady or late growth, towards 0 for growth that ends.
double EnvelopeFactor(std::span<const std::uint64_t> envelope, std::int64_t begin) {
  if (envelope.empty() || begin >= static_cast<std::int64_t>(envelope.size())) return 0;
  const std::size_t last = envelope.size() - 1;
  const std::size_t middle = (static_cast<std::size_t>(begin) + last) / 2;
  const auto rise = [&envelope](std::size_t from, std::size_t to) {
    return static_cast<double>(envelope[to] - envelope[from]);
  };
  const double late = rise(middle, last);
  const double all = rise(static_cast<std::size_t>(begin), last);
  return all > 0 ? std::min(1.0, 2 * late / all) : 0;
}

}  // namespace

std::int64_t WarmupSteps(std::int64_t steps) { return std::max<std::int64_t>(3, steps / 10); }

std::int64_t MinWindow(std::int64_t steps) {
  return std::max<std::int64_t>(5, (steps * 15 + 99) / 100);
}

std::int64_t GuardSteps(std::int64_t longest_lifetime) {
  return std::max<std::int64_t>(2, 2 * longest_lifetime + 1);
}

std::int64_t StepsNeeded(std::int64_t guard) {
  std::int64_t steps = guard + 8;  // the least: warm-up >= 3, window >= 5
  while (steps - guard - WarmupSteps(steps) < MinWindow(steps)) {
    const std::int64_t missing = MinWindow(steps) + WarmupSteps(steps) + guard - steps;
    steps += missing;
  }
  return steps;
}

std::int64_t StepsToTell(const SiteJudgement& judgement) {
  const std::int64_t window = judgement.window_end - judgement.window_begin;
  const std::int64_t wanted =
      (window * kTellingBirths + judgement.old_births - 1) / judgement.old_births;
  return (wanted + judgement.guard) * 10 / 9 + 1;  // without the warm-up
}

double SteadyChance(std::span<const std::int64_t> births, std::span<const double> weights,
                    std::int64_t begin, std::int64_t end) {
  const auto length = static_cast<double>(end - begin);
  double sum = 0, all = 0, squares = 0;
  for (std::size_t i = 0; i < births.size(); ++i) {
    const double weight = weights.empty() ? 1 : weights[i];
    sum += weight * (static_cast<double>(births[i] - begin) + 0.5);
    all += weight;
    squares += weight * weight;
  }
  if (all <= 0 || length <= 0) return 1;
  const double n = all * all / squares;  // of equal weights with as much variance (Kish 1965)
  // The mean of n uniform random values is close enough to a normal distribution from n = 3 on.
  const double deviations = (sum / all - length / 2) / (length / std::sqrt(12 * n));
  return 0.5 * std::erfc(-deviations / std::sqrt(2.0));
}

SiteHistory StackedGrowth(std::span<const std::uint64_t> lows) {
  struct Rise {
    std::int64_t step;
    std::uint64_t bytes;
  };
  std::vector<Rise> stack;
  SiteHistory history{.by_bytes = true};
  history.steps = static_cast<std::int64_t>(lows.size());
  std::uint64_t level = 0;
  for (std::int64_t step = 0; step < history.steps; ++step) {
    const std::uint64_t low = lows[static_cast<std::size_t>(step)];
    if (low > level) stack.push_back({step, low - level});
    for (std::uint64_t fall = low < level ? level - low : 0; fall > 0;) {
      Rise& top = stack.back();
      // The age of memory from before the first step is not known.
      if (top.step > 0)
        history.longest_lifetime = std::max(history.longest_lifetime, step - top.step);
      const std::uint64_t taken = std::min(fall, top.bytes);
      fall -= taken;
      top.bytes -= taken;
      if (top.bytes == 0) stack.pop_back();
    }
    level = low;
  }
  for (const Rise& rise : stack) {
    history.birth_steps.push_back(rise.step);
    history.birth_bytes.push_back(rise.bytes);
  }
  history.lows.assign(lows.begin(), lows.end());
  return history;
}

std::vector<std::uint64_t> SuffixMinimum(std::span<const std::uint64_t> values) {
  std::vector<std::uint64_t> result(values.begin(), values.end());
  for (std::size_t i = result.size(); i-- > 1;) result[i - 1] = std::min(result[i - 1], result[i]);
  return result;
}

double ProfileSlope(const SiteHistory& history, std::int64_t begin, std::int64_t end) {
  std::int64_t first = -1, last = -1;
  double bytes = 0;
  for (std::size_t i = 0; i < history.birth_steps.size(); ++i) {
    const std::int64_t step = history.birth_steps[i];
    if (step < begin || step >= end) continue;
    if (first < 0)
      first = step;
    else
      bytes += static_cast<double>(history.birth_bytes[i]);
    last = step;
  }
  return last > first ? bytes / static_cast<double>(last - first) : 0;
}

SiteJudgement JudgeSite(const SiteHistory& history) {
  SiteJudgement judgement;
  const std::int64_t steps = history.steps;
  judgement.guard = GuardSteps(history.longest_lifetime);
  judgement.window_begin = WarmupSteps(steps);
  judgement.window_end = steps - judgement.guard;
  const std::int64_t window = judgement.window_end - judgement.window_begin;

  std::vector<std::int64_t> old;
  std::vector<double> weights;  // of these
  std::int64_t after_warmup = 0;
  for (std::size_t i = 0; i < history.birth_steps.size(); ++i) {
    const std::int64_t step = history.birth_steps[i];
    after_warmup += step >= judgement.window_begin;
    if (step < judgement.window_begin || step >= judgement.window_end) continue;
    old.push_back(step);
    if (history.by_bytes) weights.push_back(static_cast<double>(history.birth_bytes[i]));
  }
  const std::vector<std::uint64_t> envelope = SuffixMinimum(history.lows);
  if (window < MinWindow(steps)) {
    const bool rose = !envelope.empty() && judgement.window_begin < steps &&
                      envelope.back() > envelope[judgement.window_begin];
    if (after_warmup >= kMinOldBirths && rose) {
      judgement.verdict = SiteVerdict::kTooShort;
      judgement.steps_needed = StepsNeeded(judgement.guard);
    }
    return judgement;
  }
  judgement.old_births = static_cast<std::int64_t>(old.size());
  if (judgement.old_births < kMinOldBirths) return judgement;
  judgement.first_step = old.front();

  judgement.steadiness = SteadyChance(old, weights, judgement.window_begin, judgement.window_end);
  const double span =
      static_cast<double>(old.back() - old.front() + 1) / static_cast<double>(window);
  // Births must go on in the last quarter, or as late as their mean distance allows.
  const std::int64_t mean_gap = (old.back() - old.front()) / (judgement.old_births - 1) + 1;
  const bool still_born = old.back() >= judgement.window_end - std::max(mean_gap, window / 4);
  const double growth = EnvelopeFactor(envelope, judgement.window_begin);
  judgement.slope = ProfileSlope(history, judgement.window_begin, judgement.window_end);
  if (!still_born || span < kMinSpan || growth <= 0) return judgement;
  const double significance = history.sizes_return ? kSignificance : kSignificanceOfKeys;
  judgement.score = 100 * (1 - std::exp(-static_cast<double>(judgement.old_births - 1) / 4)) *
                    std::min(1.0, judgement.steadiness / significance) *
                    std::min(1.0, span / kFullSpan) * growth;
  if (judgement.score >= kSuspicion) judgement.verdict = SiteVerdict::kLeak;
  return judgement;
}

}  // namespace memprof::analysis
