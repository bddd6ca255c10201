// Several logs as one session.
//
//   processes  one for each log, in the given order. A thread belongs to one process.
//   devices    logs of one host with the same UUID (or, in a log without UUIDs, the same ordinal)
//              have the same device. It has its ordinal in the first log that lists it, if that is
//              free, else the lowest free one.
//   clocks     logs of one boot share CLOCK_MONOTONIC. A log of another host or boot is shifted by
//              the difference of the wall-clock times at which the clocks were zero: as exact as
//              the hosts' wall clocks agree.
//   addresses  belong to one process each, as do handles of streams, pools and physical memory: the
//              top byte of all of them is the row of the process, so that they are distinct.
//   code       modules with the same path and build id are one, wherever they were loaded. Stacks
//              through the same code are one, so that a site has the sum of all ranks.
//   steps      each process has its own. The steps of the job are for a common axis of time: a step
//              begins with the first mark of its number in any process.
//   runs       processes that overlap in time are one run. The memory that a run holds at its end
//              ends when the next run begins.
//   segments   of a process that is always recorded are one process: what one of them holds at its
//              end is what the next one begins with, and counts once.
//   memory     shared memory is counted in the process that allocated it: an import has a layer
//              that no total includes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

// The row of the process in an address or a handle of a session of several logs.
constexpr int kProcessShift = 56;
constexpr std::size_t kMaxProcesses = 255;

// The rank that a launcher or a scheduler gave the process (run_identity.h); -1 if none did.
int RankOf(const RunInfo& run);

using StepFinder = std::function<FoundSteps(const Session&)>;

// `parts` are sessions of one log each, at least one. O(events · log(parts)). `finder` finds the
// steps of each part without marks; it may be empty.
std::shared_ptr<const Session> MergeSessions(
    const std::vector<std::shared_ptr<const Session>>& parts, const StepFinder& finder = {});

}  // namespace memprof::analysis
