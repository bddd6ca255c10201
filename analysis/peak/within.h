// The peak of the memory in use while named ranges were open: of a phase, such as "rollout".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// The times in which ranges of all these names were open, each in any thread: ascending, without
// overlap, ends included. May be empty. Errors: kNotFound, for a name that no range of the log has.
absl::StatusOr<std::vector<TimeWindow>> OpenTimes(const Session& session,
                                                  const std::vector<std::string>& names);

// Each byte counts once: see LeafMemory.
struct UsePeak {
  int device = kNoDevice;
  std::uint64_t in_use = 0;  // the most within the times
  EventId event;             // the first after which that was in use
  std::uint64_t driver =
      0;  // the most that was requested from the driver, maybe at another instant
};

// By device, ascending; those that held nothing within the times are left out. What was in use when
// a time began counts in it. O(events + times).
std::vector<UsePeak> PeaksWithin(const Session& session, const std::vector<TimeWindow>& times);

// What is in use on a device after an event, in the order of birth.
std::vector<AllocationId> InUseAfter(const Session& session, int device, EventId event);

}  // namespace memprof::analysis
