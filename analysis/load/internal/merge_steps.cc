// Merges the steps of the logs of each run, and strings runs together.
#include "analysis/load/internal/merge_steps.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace memprof::analysis {
namespace {

using Parts = std::vector<const FoundSteps*>;

// Every thread and every rank may mark the same step, and a rank may lag behind.
FoundSteps MergeMarks(const Parts& parts) {
  std::vector<std::pair<std::size_t, const StepInfo*>> marks;
  for (std::size_t p = 0; p < parts.size(); ++p)
    for (const StepInfo& step : parts[p]->steps) marks.emplace_back(p, &step);
  std::sort(marks.begin(), marks.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second->event, a.first) < std::tie(b.second->event, b.first);
  });
  FoundSteps merged{.origin = parts.front()->origin};
  std::size_t owner = 0;  // that began the last step
  for (const auto& [part, step] : marks) {
    if (!merged.steps.empty()) {
      const std::int64_t last = merged.steps.back().number;
      if (step->number == last || (part != owner && step->number < last)) continue;
    }
    owner = part;
    merged.steps.push_back(*step);
  }
  return merged;
}

FoundSteps MergeFound(const Parts& parts) {
  std::size_t most = 0, agreeing = 0;
  for (const FoundSteps* part : parts) most = std::max(most, part->steps.size());
  FoundSteps merged;
  for (const FoundSteps* part : parts) {
    if (most == 0) {
      if (part->origin.confidence >= merged.origin.confidence) merged.origin = part->origin;
      continue;
    }
    if (part->steps.size() != most) continue;
    if (agreeing++ == 0) {
      merged = *part;
      continue;
    }
    StepOrigin& origin = merged.origin;
    origin.confidence = std::min(origin.confidence, part->origin.confidence);
    origin.warm_up_steps = std::max(origin.warm_up_steps, part->origin.warm_up_steps);
    for (std::size_t i = 0; i < most; ++i) {
      if (part->steps[i].begin >= merged.steps[i].begin) continue;
      merged.steps[i].begin = part->steps[i].begin;
      merged.steps[i].event = part->steps[i].event;
    }
  }
  if (parts.size() > 1 && most > 0)
    merged.origin.why = absl::StrCat("In ", agreeing, " of the ", parts.size(),
                                     " logs, each by itself: ", merged.origin.why);
  return merged;
}

FoundSteps MergeRun(const Parts& parts, TimeNs end) {
  Parts marked;
  for (const FoundSteps* part : parts)
    if (part->origin.source == StepSource::kMarks && !part->steps.empty()) marked.push_back(part);
  FoundSteps merged = marked.empty() ? MergeFound(parts) : MergeMarks(marked);
  for (std::size_t i = 0; i < merged.steps.size(); ++i)
    merged.steps[i].end = i + 1 < merged.steps.size() ? merged.steps[i + 1].begin : end;
  return merged;
}

}  // namespace

std::vector<std::uint32_t> NumberRuns(std::span<const RunSpan> logs) {
  std::vector<std::size_t> order(logs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return logs[a].begin < logs[b].begin; });
  std::vector<std::uint32_t> numbers(logs.size(), 0);
  std::uint32_t run = 0;
  TimeNs end = 0;
  for (const std::size_t i : order) {
    if (i != order.front() && logs[i].begin > end) ++run;
    numbers[i] = run;
    end = std::max(end, logs[i].end);
  }
  return numbers;
}

MergedSteps MergeSteps(std::vector<FoundSteps> parts, std::span<const RunSpan> logs,
                       std::span<const std::uint32_t> run_of_log) {
  MergedSteps merged;
  const std::uint32_t runs = 1 + *std::max_element(run_of_log.begin(), run_of_log.end());
  for (std::uint32_t run = 0; run < runs; ++run) {
    Parts of_run;
    TimeNs end = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (run_of_log[i] != run) continue;
      of_run.push_back(&parts[i]);
      end = std::max(end, logs[i].end);
    }
    FoundSteps steps = MergeRun(of_run, end);
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (run_of_log[i] == run && parts[i].steps.empty()) parts[i] = steps;
    // As certain as the least certain run that has steps.
    const bool first = merged.job.steps.empty(), none = steps.steps.empty();
    const bool less = steps.origin.confidence < merged.job.origin.confidence;
    if (first ? !none || !less : !none && less) merged.job.origin = std::move(steps.origin);
    merged.job.steps.insert(merged.job.steps.end(), steps.steps.begin(), steps.steps.end());
  }
  merged.of_log = std::move(parts);
  return merged;
}

}  // namespace memprof::analysis
