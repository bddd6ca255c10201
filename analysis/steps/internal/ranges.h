// Finds steps by repeated named ranges.
#pragma once

#include <string>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

// Occurrences of ranges whose names differ only in numbers: "iteration 12" and "iteration 13".
struct RepeatedRange {
  std::string name;  // with "#" for numbers
  // Whether the name means a step: "train_step", "iteration 12", "ProfilerStep#3".
  bool names_step = false;
  // Whether the name means the optimizer, with which steps end.
  bool names_optimizer = false;
  double covered = 0;                 // share of the time from the first to the end of the last
  std::vector<std::size_t> rows;      // of Session::ranges(), in order of time
  std::vector<std::int64_t> numbers;  // in the names, if each has one and they ascend; else empty
};

// Names that occur three times or more (two, if they mean steps) and are not nested in themselves,
// on the thread that has them most often. Best first: those that mean steps, then by time covered.
std::vector<RepeatedRange> FindRepeatedRanges(const Session& session);

// `name` with each number replaced by "#", and the last number; -1 if there is none or it is too
// large.
std::string WithoutNumbers(std::string_view name, std::int64_t* number);

// Whether `name` means training steps.
bool NamesStep(std::string_view name);
// Whether `name` means the optimizer.
bool NamesOptimizer(std::string_view name);

}  // namespace memprof::analysis
