// What the driver's samples of a device show beyond the memory that a log explains: other
// processes, and memory in use by unknown owners. Between two samples the earlier one is held.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

// As of LedgerEntry, in bytes, from an event on.
struct RestChange {
  std::uint32_t event = 0;
  std::uint64_t untracked = 0;
  // Known memory beyond what the driver reported as used; 0 if anything is untracked.
  std::uint64_t elsewhere = 0;
  // Of processes that are not in the session. A sample without this figure keeps the last one, at
  // most what is in use; before the first one, other processes are part of `untracked`.
  std::uint64_t others = 0;

  bool operator==(const RestChange&) const = default;
};

struct DeviceRest {
  std::uint64_t capacity = 0;       // the most that samples report
  std::uint64_t most_used = 0;      // at any event from the first sample on, at most `capacity`
  std::vector<RestChange> changes;  // one a sample, in order of events
};

// Of the devices with samples, by ordinal.
using DeviceRests = std::map<int, DeviceRest>;

// One pass over the events.
DeviceRests FindDeviceRests(const Session& session);
// Computed once a session.
std::shared_ptr<const DeviceRests> RestsOf(const Session& session);

// Reads the changes along with the events, in order.
class RestCursor {
 public:
  // Null: there is nothing to read.
  explicit RestCursor(const DeviceRest* rest) : rest_(rest) {}
  // The change in `event`, which must not precede the last one queried; null for none.
  const RestChange* At(std::uint32_t event) {
    if (rest_ == nullptr) return nullptr;
    while (next_ < rest_->changes.size() && rest_->changes[next_].event < event) ++next_;
    const bool here = next_ < rest_->changes.size() && rest_->changes[next_].event == event;
    return here ? &rest_->changes[next_] : nullptr;
  }
  // Moves to just before an event.
  void Seek(std::uint32_t event);

 private:
  const DeviceRest* rest_;
  std::size_t next_ = 0;
};

}  // namespace memprof::analysis
