// Everything that can be lost or unusual in a recording, as one table: the recorder counts these
// anomalies, the log has the counts, and the CLI and the viewer explain them to the user.
//
// MEMPROF_ANOMALIES(X): X(identifier, "name in the log", severity, "what it means and what to do")
// Severity: kInfo (nothing to do), kNotice (figures may be slightly off), kDataLoss (events or
// stacks are missing), kError (a part of the recording did not work).
#pragma once

#include <string_view>

namespace memprof::log {

enum class Severity { kInfo, kNotice, kDataLoss, kError };

#define MEMPROF_ANOMALIES(X)                                                                     \
  X(kEventsLost, "events_lost", kDataLoss,                                                       \
    "Events were dropped: the program produced them faster than they could be written (raise "   \
    "MEMPROF_RING_EVENTS, or write the log to a faster disk), or the log could not grow.")       \
  X(kDefinitionsLost, "definitions_lost", kDataLoss,                                             \
    "Names or call stacks were dropped because their buffer was full; the events concerned are " \
    "there without them. Raise MEMPROF_RING_EVENTS.")                                            \
  X(kUnmatchedFrees, "unmatched_frees", kNotice,                                                 \
    "Memory was freed that was never seen being allocated, for instance because recording "      \
    "began late. Start recording before the program's first CUDA call.")                         \
  X(kDoubleAllocations, "double_allocations", kNotice,                                           \
    "An address was allocated again while its allocation was still alive in the log: a free "    \
    "was missed. The older allocation is counted as freed at that moment.")                      \
  X(kThreadSlotsExhausted, "thread_slots_exhausted", kDataLoss,                                  \
    "More threads used CUDA at once than there are event rings; events of the others were "      \
    "dropped.")                                                                                  \
  X(kStacksTruncated, "stacks_truncated", kInfo,                                                 \
    "Some call stacks were deeper than MEMPROF_STACK_DEPTH, or than a reader follows (640 "      \
    "frames); their outermost frames are missing.")                                              \
  X(kStacksUnavailable, "stacks_unavailable", kNotice,                                           \
    "No unwinder could be loaded (libunwind.so.8): allocations have no call stacks. Install "    \
    "libunwind.")                                                                                \
  X(kPythonFramesOff, "python_frames_off", kNotice,                                              \
    "The program runs Python, and its frames could not be read reliably: an unknown version, "   \
    "or one whose structures differ from that version. Call stacks show native code only; the "  \
    "state of the source \"python\" gives the reason.")                                          \
  X(kWriteErrors, "write_errors", kError,                                                        \
    "The log could not be written (disk full?): recording stopped there.")                       \
  X(kRingNotShared, "ring_not_shared", kNotice,                                                  \
    "Shared memory was not available: if the process is killed, its last events are lost. "      \
    "Check the space in /dev/shm.")                                                              \
  X(kRingRecovered, "ring_recovered", kInfo,                                                     \
    "The process ended without closing its log; its last events were recovered from shared "     \
    "memory.")                                                                                   \
  X(kRingGone, "ring_gone", kNotice,                                                             \
    "The log was not closed and its shared memory is gone (another machine, or a reboot): the "  \
    "last fraction of a second before the end is missing.")                                      \
  X(kTailCut, "tail_cut", kNotice,                                                               \
    "The log ends in the middle of a chunk; that chunk is left out.")                            \
  X(kChunksCorrupt, "chunks_corrupt", kError,                                                    \
    "Parts of the log are damaged (bad checksum) and were left out.")                            \
  X(kChunksUnknown, "chunks_unknown", kNotice,                                                   \
    "The log holds chunks of a kind this version does not know; a newer memprof shows more.")    \
  X(kClockSteps, "clock_steps", kNotice,                                                         \
    "Events of one thread were not in the order of time; they were kept in their own order.")    \
  X(kFramesUnsymbolised, "frames_unsymbolised", kInfo,                                           \
    "Some call-stack frames have no function name: the binary is gone, changed, or has no "      \
    "symbols. Analyse where it was recorded, or install debug symbols.")                         \
  X(kCuptiRefused, "cupti_refused", kNotice,                                                     \
    "CUPTI could not be used (another profiler has it, or it is missing): launches and copies "  \
    "are not in the log; allocations are.")                                                      \
  X(kForkedChildren, "forked_children", kInfo,                                                   \
    "The process forked; children that use CUDA write logs of their own.")                       \
  X(kRangesUnbalanced, "ranges_unbalanced", kInfo,                                               \
    "Ranges were popped without a push, or pushed and not popped.")                              \
  X(kForeignFrees, "frees_of_other_family", kInfo,                                               \
    "Memory was freed by another API family than the one that allocated it; this is legal and "  \
    "was matched by address.")                                                                   \
  X(kEventsUnknown, "events_unknown", kNotice,                                                   \
    "The log holds events of a kind this version does not know; a newer memprof shows more.")    \
  X(kMemoryRefused, "memory_refused", kDataLoss,                                                 \
    "The recorder reached the limit on its own memory: names, call stacks or threads beyond "    \
    "it were left out, and other counters show which; this one counts how often memory was "     \
    "refused. Raise MEMPROF_MEMORY_MIB.")                                                        \
  X(kBlocksNotFollowed, "blocks_not_followed", kNotice,                                          \
    "More blocks were alive at once than the recorder follows: memprof_get_stats() counted too " \
    "few, and frees of such blocks may carry another layer. The events are all in the log.")     \
  X(kCuptiLost, "cupti_lost", kDataLoss,                                                         \
    "CUPTI stopped during the recording (another profiler finalised it, or it failed). What "    \
    "it would have reported until it was available again is missing: launches and copies, and "  \
    "allocations where it was their only source. See the state of the sources.")                 \
  X(kTraceTruncated, "trace_truncated", kDataLoss,                                               \
    "The imported trace begins when memory was already allocated: its ring had overflowed, or "  \
    "it was switched on late. That memory is counted from the first instant of the trace; the "  \
    "calls that allocated it are unknown. Record more entries, or from the program's start.")    \
  X(kTraceContradictions, "trace_contradictions", kNotice,                                       \
    "The imported trace and the state at its end contradict each other: actions are missing, "   \
    "or the trace was switched off before the state was taken. The state was used.")             \
  X(kFrameworkTotalsDiffer, "framework_totals_differ", kNotice,                                  \
    "The totals that PyTorch's allocator reported differ from those of the recorded blocks "     \
    "and segments: it had memory before recording began, or allocated while recording was "      \
    "paused. Its figures here are off by that much. Start recording before the program's "       \
    "first CUDA call.")                                                                          \
  X(kVersionsUnknown, "driver_versions_unknown", kDataLoss,                                      \
    "The program requested from the driver a version of a memory function that this memprof "    \
    "does not know: calls of it are missing. Use a newer memprof.")                              \
  X(kSamplingOdd, "sampling_odd", kNotice,                                                       \
    "What this always-on log says of its own samples contradicts itself in places: stretches "   \
    "that overlap or run backwards, weights that cannot be, levels without a stretch. Those "    \
    "were left out; estimates may be off.")                                                      \
  X(kBudgetSpent, "budget_spent", kDataLoss,                                                     \
    "The budget of this always-on recording was spent before its period was over, or more "      \
    "blocks were alive than the recorder can follow: blocks that live on, frees, maps or "       \
    "failed requests were left out, so what looks alive may have been freed. Raise the budget, " \
    "or MEMPROF_MEMORY_MIB.")

enum class Anomaly {
#define MEMPROF_ANOMALY_ID(identifier, name, severity, advice) identifier,
  MEMPROF_ANOMALIES(MEMPROF_ANOMALY_ID)
#undef MEMPROF_ANOMALY_ID
      kCount
};

// By Anomaly.
inline constexpr std::string_view kAnomalyNames[] = {
#define MEMPROF_ANOMALY_NAME(identifier, name, severity, advice) name,
    MEMPROF_ANOMALIES(MEMPROF_ANOMALY_NAME)
#undef MEMPROF_ANOMALY_NAME
};

}  // namespace memprof::log
