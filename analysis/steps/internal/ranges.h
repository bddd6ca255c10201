// Steps from named ranges: a name that comes again and again.
#pragma once

#include <string>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

// Occurrences of ranges that differ in no more than numbers: "iteration 12" and "iteration 13".
struct RepeatedRange {
  std::string name;  // with "#" for numbers
  // The name speaks of steps: "train_step", "iteration 12", "ProfilerStep#3".
  bool says_step = false;
  // The name speaks of the optimizer, with which steps end.
  bool says_optimizer = false;
  double covered = 0;             // share of the time from the first to the end of the last
  std::vector<std::size_t> rows;  // of Session::ranges(), in order of time
  std::vector<std::int64_t>
      numbers;  // in the names, where each has one and they ascend; else empty
};

// Names that come three times or more (two, if they speak of steps) and never within themselves, of
// the thread that has them most; best first: those that speak of steps, then by time covered.
std::vector<RepeatedRange> FindRepeatedRanges(const Session& session);

// `name` with "#" in the place of each number, and the last of these numbers, -1 if there is none
// or it is too large.
std::string WithoutNumbers(std::string_view name, std::int64_t* number);

// Whether `name` speaks of training steps.
bool SaysStep(std::string_view name);
// Whether it speaks of the optimizer.
bool SaysOptimizer(std::string_view name);

}  // namespace memprof::analysis
