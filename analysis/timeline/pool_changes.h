// What stream-ordered pools hold of a device beyond live allocations.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

// For the pools of one device: the changes in order of events.
class PoolChanges {
 public:
  void Add(std::uint32_t event, std::uint64_t bytes) {
    event_.push_back(event);
    bytes_.push_back(bytes);
  }
  std::size_t size() const { return event_.size(); }
  std::uint32_t event(std::size_t i) const { return event_[i]; }
  std::uint64_t bytes(std::size_t i) const { return bytes_[i]; }
  // The first change at or after an event.
  std::size_t From(std::uint32_t event) const;
  // After an event; before the first one with an event of none.
  std::uint64_t After(EventId event) const;
  std::size_t memory_bytes() const {
    return event_.capacity() * sizeof(std::uint32_t) + bytes_.capacity() * sizeof(std::uint64_t);
  }

 private:
  std::vector<std::uint32_t> event_;
  std::vector<std::uint64_t> bytes_;
};

// Reads the changes along with the events, in order.
class PoolCursor {
 public:
  explicit PoolCursor(const PoolChanges& changes) : changes_(&changes) {}
  // The value after `event`, which must not precede the last one queried.
  std::uint64_t After(EventId event) {
    while (next_ < changes_->size() && changes_->event(next_) <= event.value)
      bytes_ = changes_->bytes(next_++);
    return bytes_;
  }
  // Moves to just before an event.
  void Seek(std::uint32_t event) {
    next_ = changes_->From(event);
    bytes_ = next_ == 0 ? 0 : changes_->bytes(next_ - 1);
  }

 private:
  const PoolChanges* changes_;
  std::size_t next_ = 0;
  std::uint64_t bytes_ = 0;
};

// For every device the sum over its pools of max(0, reserved in the last pool sample - live bytes
// of that pool), including the pool for memory nodes of graphs. Before its first sample, a pool
// counts 0. Physical memory whose handle was released while it is mapped needs nothing here: it is
// an allocation until its last mapping is removed.
class DevicePools {
 public:
  // O(events) where pools were sampled.
  explicit DevicePools(const Session& session);

  const PoolChanges& Of(int device) const;
  // Devices whose pools ever hold more than live memory, by ordinal.
  const std::map<int, PoolChanges>& all() const { return changes_; }

 private:
  std::map<int, PoolChanges> changes_;
};

// Computed once a session.
std::shared_ptr<const DevicePools> PoolsOf(const Session& session);

}  // namespace memprof::analysis
