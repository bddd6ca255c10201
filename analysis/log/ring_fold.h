// Puts what a killed process left in shared memory into its log, and removes shared memory that
// nobody needs any more: what `memprof run` does once the program has ended.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace memprof::analysis {

enum class FoldResult {
  kNothingToDo,  // the log ended cleanly, or what was left is in it already
  kFolded,       // the log now holds everything; its counters say ring_recovered
};

// Appends to the log at `log_path` what its ring holds (RecoverRing), and removes the ring. At
// every moment, should this process be killed too, log and ring together hold each event once. The
// log stays without a trailer: it did not end cleanly.
//
// Both files must belong to the calling user. Errors: as RecoverRing, of which
// kFailedPrecondition means that the process still records; kUnavailable (the log cannot be
// written: the ring is left as it is).
absl::StatusOr<FoldResult> FoldRing(const std::string& log_path);

// How long a ring whose log is not where it was is kept for it: the log may have been moved, and
// finds its ring from wherever it is.
inline constexpr std::int64_t kKeepForMovedLogNs = std::int64_t{3} * 24 * 3600 * 1'000'000'000;

// Removes rings in `directory` (/dev/shm) that belong to the calling user, whose process is gone
// and which nobody needs: the log is complete, or there is none at its place and either the ring
// has nothing that was not in the log, or this was seen first more than kKeepForMovedLogNs before
// `now_unix_ns`. Any other file is left alone. Returns how many it removed.
int RemoveOrphanedRings(const std::string& directory, std::int64_t now_unix_ns);

}  // namespace memprof::analysis
