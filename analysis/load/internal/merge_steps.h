// The steps of several logs: of each log, and of the whole job.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

// Begin and end of a log, on the common clock.
struct RunSpan {
  TimeNs begin = 0, end = 0;
};

// The run of each log: logs that overlap in time, directly or through others, are one run. Run 0
// began first.
std::vector<std::uint32_t> NumberRuns(std::span<const RunSpan> logs);

struct MergedSteps {
  FoundSteps job;
  std::vector<FoundSteps> of_log;
};

// `parts[i]` are the steps of one log, with times and events of the common session; none if the log
// has none. Each log keeps its own steps. The steps of the job are those of its runs, one run after
// the other. For the ranks of a run:
//   marks   a step begins with the first mark of its number in any log.
//   found   if no log of the run has marks: the logs with the largest number of steps are used, and
//           a step begins with the first of them. Logs with another number of steps (such as an
//           evaluation beside the training) are ignored.
// A log without steps gets those of its run.
MergedSteps MergeSteps(std::vector<FoundSteps> parts, std::span<const RunSpan> logs,
                       std::span<const std::uint32_t> run_of_log);

}  // namespace memprof::analysis
