// Rules that judge the lives of one site's blocks.
#include "studies/leakbench/detectors.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace memprof::leakbench {
namespace {

// Live bytes at the end of each step.
std::vector<double> LiveSeries(const Sample& sample) {
  std::vector<double> change(static_cast<std::size_t>(sample.steps), 0);
  for (const BlockLife& block : sample.blocks) {
    change[static_cast<std::size_t>(std::max(0, block.birth))] += static_cast<double>(block.bytes);
    if (!block.alive())
      change[static_cast<std::size_t>(std::max(0, block.death))] -=
          static_cast<double>(block.bytes);
  }
  for (std::size_t i = 1; i < change.size(); ++i) change[i] += change[i - 1];
  return change;
}

// Distinct birth steps of the blocks that are live after `step`.
std::size_t Generations(const Sample& sample, int step) {
  std::set<int> births;
  for (const BlockLife& block : sample.blocks)
    if (block.birth >= 0 && block.birth <= step && (block.alive() || block.death > step))
      births.insert(block.birth);
  return births.size();
}

bool Suspected(const Sample& sample) { return sample.said == Said::kSuspected; }
bool SuspectedOrGrowing(const Sample& sample) { return sample.said != Said::kNothing; }

// compute-sanitizer, memray, heaptrack: not freed at the end.
bool LiveAtExit(const Sample& sample) {
  return std::any_of(sample.blocks.begin(), sample.blocks.end(),
                     [](const BlockLife& block) { return block.alive(); });
}

// msMemScope: allocated after step 1 and live for at least a step.
bool OutlivesItsStep(const Sample& sample) {
  return std::any_of(sample.blocks.begin(), sample.blocks.end(), [](const BlockLife& block) {
    return block.birth >= 1 && (block.alive() || block.death - block.birth >= 1);
  });
}

// Mann-Kendall's test for a rising trend of the site's live bytes, p < 0.05.
bool MannKendall(const Sample& sample) {
  const std::vector<double> live = LiveSeries(sample);
  const auto n = static_cast<double>(live.size());
  double s = 0;
  for (std::size_t i = 0; i < live.size(); ++i)
    for (std::size_t j = i + 1; j < live.size(); ++j)
      s += static_cast<double>((live[j] > live[i]) - (live[j] < live[i]));
  const double deviation = std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  return (s - 1) / deviation > 1.645;
}

// A rising line that explains four fifths of the live bytes.
bool Regression(const Sample& sample) {
  const std::vector<double> live = LiveSeries(sample);
  const auto n = static_cast<double>(live.size());
  double sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
  for (std::size_t i = 0; i < live.size(); ++i) {
    const auto x = static_cast<double>(i);
    sx += x, sy += live[i], sxx += x * x, sxy += x * live[i], syy += live[i] * live[i];
  }
  const double covariance = n * sxy - sx * sy, vx = n * sxx - sx * sx, vy = n * syy - sy * sy;
  return vy > 0 && covariance > 0 && covariance * covariance / (vx * vy) > 0.8;
}

// Scalene's rule of succession.
bool Succession(const Sample& sample) {
  double frees = 0;
  for (const BlockLife& block : sample.blocks) frees += !block.alive();
  const double allocations = static_cast<double>(sample.blocks.size());
  return 1 - (frees + 1) / (allocations - frees + 2) >= 0.95;
}

// bytehound's group of sites that never freed anything, if they allocated in several steps.
bool NeverFrees(const Sample& sample) {
  std::set<int> births;
  for (const BlockLife& block : sample.blocks) {
    if (!block.alive()) return false;
    if (block.birth >= 0) births.insert(block.birth);
  }
  return births.size() >= 3;
}

// The number of live generations keeps growing, as in GenCount.
bool MoreGenerations(const Sample& sample) {
  const int n = sample.steps;
  const std::size_t early = Generations(sample, n / 3), middle = Generations(sample, 2 * n / 3),
                    late = Generations(sample, n - 1);
  return early < middle && middle < late && late >= 3;
}

}  // namespace

const std::vector<Detector>& Detectors() {
  static const std::vector<Detector> kDetectors = {
      {"live at exit", LiveAtExit},
      {"outlives its step (msMemScope)", OutlivesItsStep},
      {"Mann-Kendall, p < .05", MannKendall},
      {"regression, R2 > .8 (Precog)", Regression},
      {"rule of succession (Scalene)", Succession},
      {"never frees (bytehound)", NeverFrees},
      {"more generations (GenCount)", MoreGenerations},
      {"memprof, suspected", Suspected},
      {"memprof, suspected or growing", SuspectedOrGrowing},
  };
  return kDetectors;
}

std::pair<double, double> WilsonInterval(int hits, int of) {
  if (of <= 0) return {0, 1};
  constexpr double z = 1.959964;  // 97.5 % quantile of the normal distribution
  const double n = of, p = hits / n;
  const double middle = (p + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

Score ScoreOf(const Detector& detector, const std::vector<Sample>& samples, bool decidable) {
  Score score;
  for (const Sample& sample : samples) {
    if (decidable && sample.of->truth == Truth::kUndecidable) continue;
    const bool leak = sample.of->truth == Truth::kLeak, said = detector.leaks(sample);
    score.hits += leak && said;
    score.misses += leak && !said;
    score.false_alarms += !leak && said;
    score.rejections += !leak && !said;
  }
  return score;
}

namespace {

// The growth rate of a leak in this run: its surviving bytes over the steps from the first one to
// the end of the run. (The case states the mean over all runs, from which a random run deviates.)
double GrowthPerStep(const Sample& sample) {
  double bytes = 0;
  int first = -1;
  for (const BlockLife& block : sample.blocks) {  // in order of birth
    if (!block.alive() || block.birth < 0 || block.birth == sample.steps - 1) continue;
    if (first < 0) first = block.birth;
    bytes += static_cast<double>(block.bytes);
  }
  return first < 0 ? 0 : bytes / (sample.steps - 1 - first);
}

}  // namespace

Precision PrecisionOf(const std::vector<Sample>& samples) {
  Precision precision;
  for (const Sample& sample : samples) {
    if (sample.of->truth != Truth::kLeak || sample.said == Said::kNothing) continue;
    // Verdicts by time have no slope per step; replaced blocks cannot be counted.
    const bool has_slope = sample.bytes_per_step > 0 && !sample.of->replaced;
    ++precision.named;
    precision.named_right += sample.site_right;
    const double growth = GrowthPerStep(sample);
    if (has_slope && growth > 0)
      precision.slope_errors.push_back(std::abs(sample.bytes_per_step / growth - 1));
  }
  std::sort(precision.slope_errors.begin(), precision.slope_errors.end());
  return precision;
}

}  // namespace memprof::leakbench
