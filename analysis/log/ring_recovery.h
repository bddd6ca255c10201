// Reads what a process that died without closing its log left behind in shared memory.
//
// A recorder keeps events in a file of shared memory (proto/ring.h) until its writer thread has
// put them into the log. After SIGKILL that file is still there, and this function returns what
// had not reached the log yet, so that nothing complete is lost.
//
// How a log reader uses it:
//
//     1. Read the log's Header. `ring_path` empty: there is nothing to recover.
//     2. Log has a Trailer: it ended cleanly; do not call this function.
//     3. Otherwise call RecoverRing(header.ring_path(), header.pid(), header.start_time_ns(),
//        size of the log file in bytes).
//     4. kFailedPrecondition: the process is still running and the log is growing: read the log
//        as it is. kNotFound: count Anomaly::kRingGone. Any other error: the same, with its text.
//     5. On success read the log's chunks only up to `committed_log_bytes` (a chunk that was
//        being written at the moment of death lies behind it and is part of what is returned
//        here), then add `definitions`, then `events`, then let `counters` replace the log's last
//        ones; count Anomaly::kRingRecovered. Taken so, every event is seen exactly once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/memprof.pb.h"

namespace memprof::analysis {

struct RecoveredRing {
  // Published definitions that are not in the log; their ids continue those of the log. Damaged
  // ones are left out, and counted in `counters` (definitions_lost).
  log::Definitions definitions;
  // Messages as they would be in the log's next chunks: at most kMaxEventsPerChunk events each,
  // those of one thread in order.
  std::vector<log::Events> events;
  // Totals at the moment of death; `events_written` counts the events in the log, without `events`.
  log::Counters counters;
  // The part of the log file that goes with the above; never more than `log_bytes`.
  std::uint64_t committed_log_bytes = 0;
};

// Opens the ring at `ring_path` read-only and decodes it. `expected_pid` and
// `expected_start_time_ns` are from the log header: the ring of another recording is refused.
// `log_bytes` is the current size of the log file. The ring must belong to the calling user or, if
// given, to `log_owner`, the log's owner: any user may put files into /dev/shm.
//
// The file is untrusted input: every index in it is checked, and it is never written to. Errors:
// kNotFound (no such file), kFailedPrecondition (its process is alive and recording),
// kPermissionDenied, kDataLoss (foreign, damaged, or of another log). Thread-safe.
absl::StatusOr<RecoveredRing> RecoverRing(const std::string& ring_path, std::uint32_t expected_pid,
                                          std::uint64_t expected_start_time_ns,
                                          std::uint64_t log_bytes,
                                          std::optional<std::uint32_t> log_owner = std::nullopt);

}  // namespace memprof::analysis
