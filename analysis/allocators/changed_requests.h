// The reserved bytes of a program that had made other requests.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/allocators/recorded.h"
#include "analysis/allocators/spec.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// Requests are named by the events of their births.
struct RequestChanges {
  struct Added {
    EventId begin, end;  // made right after `begin`, freed right before `end` (none = never)
    std::uint64_t bytes = 0;
  };
  std::vector<EventId> gone;  // not made; ascending
  std::vector<Added> added;   // in any order; on the default stream
};

// The requests of `run` with these changes. `run` has the rows and the events of its requests.
allocators::Trace ChangedTrace(const allocators::RecordedRun& run, const RequestChanges& changes);

// Replays one device of one process on the recorded allocator. Immutable once built, hence
// thread-safe.
class ReservedReplay {
 public:
  // Null if the device has no requests to PyTorch's allocator there, more than a few millions, or
  // if the replay of the recorded ones is off by more than 1 %.
  static std::unique_ptr<const ReservedReplay> Of(const Session& session, int device,
                                                  std::uint32_t process);

  // The peak of reserved bytes. O(requests log blocks).
  std::uint64_t With(const RequestChanges& changes) const;
  // Whether requests failed in the recording, and none would with these changes on the device as
  // the recording had it. The allocator releases its cache before it fails.
  bool EndsFailures(const RequestChanges& changes) const;

 private:
  ReservedReplay(allocators::RecordedRun run, allocators::AllocatorSpec spec)
      : run_(std::move(run)), spec_(std::move(spec)) {}

  const allocators::RecordedRun run_;
  const allocators::AllocatorSpec spec_;
};

}  // namespace memprof::analysis
