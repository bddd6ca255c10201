// Several logs as one session.
//
//   processes  one per log, in the order given. A thread belongs to one.
//   devices    two logs of one host that name the same UUID (or, where a log names none, the same
//              ordinal) mean one device. It has its ordinal of the first log that names it, others
//              the next that is free.
//   clocks     logs of one boot share CLOCK_MONOTONIC. A log of another host, or of another boot,
//   is
//              shifted by the difference of the wall-clock times at which the machines' clocks were
//              zero: as exact as the hosts' wall clocks agree.
//   addresses  are of one process each, as are handles of streams, pools and physical memory: the
//              top byte of all of them is the row of the process, so that none is taken for
//              another's.
//   code       modules with one path and build id are one, wherever they were loaded. Stacks
//              through the same code are one, so that a site has the sum of all ranks.
//   steps      each process has its own. Those of the job are for an axis of time: a step begins
//              with the first mark of its number in any process.
//   runs       processes that overlap in time are one run, others are told as several. What a run
//              held at its end is gone as the next begins.
//   memory     what is shared is counted where it was made: what another process imports is of a
//              layer that no total includes.
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

// The rank that torchrun, Open MPI, MPICH or SLURM gave the process; -1 if none did.
int RankOf(const RunInfo& run);

using StepFinder = std::function<FoundSteps(const Session&)>;

// `parts` are sessions of one log each, at least one. O(events · log(parts)). `finder` finds the
// steps of each part without marks; it may be empty.
std::shared_ptr<const Session> MergeSessions(
    const std::vector<std::shared_ptr<const Session>>& parts, const StepFinder& finder = {});

}  // namespace memprof::analysis
