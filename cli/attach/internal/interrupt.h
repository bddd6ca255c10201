// Makes one thread of a program execute the stub, and lets it go on.
#pragma once

#include <chrono>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/attach/internal/target.h"

namespace memprof::cli {

// Where the stub can be written. kFailedPrecondition if code of an earlier attach is in use there,
// and still is after `limit`.
absl::StatusOr<std::uint64_t> FindFreeGap(const Target& target, const StubParts& parts,
                                          std::chrono::milliseconds limit);
// Looks for a thread that may begin another one now: within neither the loader nor the allocator,
// whose locks the stub's calls take. Threads are stopped one at a time; those that wait, and do not
// notice it, are tried first. Tries again until `limit`.
absl::Status RunStub(const Target& target, const StubParts& parts, std::uint64_t gap,
                     std::chrono::milliseconds limit);

}  // namespace memprof::cli
