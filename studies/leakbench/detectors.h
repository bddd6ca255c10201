// How memprof and other tools detect leaks, each as one yes-or-no question about a sample. The
// older rules follow their publications.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "studies/leakbench/run.h"

namespace memprof::leakbench {

struct Detector {
  std::string name;
  bool (*leaks)(const Sample&);
};

const std::vector<Detector>& Detectors();

// The 95 % confidence interval of a share `hits` of `of`, after E. B. Wilson, "Probable inference,
// the law of succession, and statistical inference" (1927). It is also valid if all or none are
// hits. (0, 1) for `of` = 0.
std::pair<double, double> WilsonInterval(int hits, int of);

// Right and wrong answers of one detector.
struct Score {
  int hits = 0, false_alarms = 0, misses = 0, rejections = 0;
  double precision() const { return Share(hits, false_alarms); }
  double recall() const { return Share(hits, misses); }
  double false_positive_rate() const { return Share(false_alarms, rejections); }
  static double Share(int part, int rest) {
    return part + rest == 0 ? 0 : static_cast<double>(part) / (part + rest);
  }
};
// Over the decidable cases, or over all, where undecidable cases count as non-leaks.
Score ScoreOf(const Detector& detector, const std::vector<Sample>& samples, bool decidable);

// How many suspected leaks are attributed to the right site, and the relative errors of their
// slopes.
struct Precision {
  int named = 0, named_right = 0;
  std::vector<double> slope_errors;  // sorted
};
Precision PrecisionOf(const std::vector<Sample>& samples);

}  // namespace memprof::leakbench
