// Appends the shared memory of a killed process to its log, and removes shared memory that is no
// longer needed: `memprof run` does this once the program has ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace memprof::analysis {

enum class FoldResult {
  kNothingToDo,  // the log ended cleanly, or already has the ring's content
  kFolded,       // the log is now complete; its counters say ring_recovered
};

// Appends the content of its ring to the log at `log_path` (RecoverRing), and removes the ring. If
// this process is killed too, at any moment, log and ring together have each event once. The log
// gets no trailer, because it did not end cleanly.
//
// Both files must belong to the calling user. Errors: as RecoverRing, where kFailedPrecondition
// means that the process still records; kUnavailable (the log cannot be written: the ring is left
// as it is).
absl::StatusOr<FoldResult> FoldRing(const std::string& log_path);

// What FoldRing would do to the log, without doing it: `chunks` in place of all from `begin` on.
// Errors: as RecoverRing; kNotFound if there is nothing to do.
struct RingEnd {
  std::uint64_t begin = 0;
  std::string chunks;
};
absl::StatusOr<RingEnd> ReadRingEnd(const std::string& log_path);

// How long a ring is kept whose log is no longer at its path: the log may have been moved, and can
// still find its ring.
inline constexpr std::int64_t kKeepForMovedLogNs = std::int64_t{3} * 24 * 3600 * 1'000'000'000;

// Removes rings in `directory` (/dev/shm) that belong to the calling user, whose process is gone
// and which are no longer needed: the log is complete; or the log is missing, and the ring has
// nothing that was not in the log, or the log was first seen missing more than kKeepForMovedLogNs
// before `now_unix_ns`. Leaves other files alone. Returns the number of removed rings.
int RemoveOrphanedRings(const std::string& directory, std::int64_t now_unix_ns);

// Appends rings in `directory` that belong to the calling user to their logs (FoldRing), if their
// processes are gone and the logs, incomplete, are one of `places` or lie below one, which are
// absolute. Returns how many it appended.
int FoldOrphanedRings(const std::string& directory, const std::vector<std::string>& places);

}  // namespace memprof::analysis
