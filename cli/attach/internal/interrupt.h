// Makes one thread of a program execute the stub, and lets it go on.
#pragma once

#include <chrono>

#include "absl/status/status.h"
#include "cli/attach/internal/target.h"

namespace memprof::cli {

// Looks for a thread that may begin another one now: within neither the loader nor the allocator,
// whose locks the stub's calls take. Threads are stopped one at a time, for less than a millisecond
// each; those that wait anyway are tried first. Tries again until `limit`.
absl::Status RunStub(const Target& target, const StubParts& parts, std::chrono::milliseconds limit);

}  // namespace memprof::cli
