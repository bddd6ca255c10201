// The ledger of a device: what cuMemGetInfo said was used, taken apart until nothing is left over.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/timeline/timeline.h"

namespace memprof::analysis {

// What the driver said about a device at one instant: a sample of its own, or the one that comes
// with every failed allocation.
struct MemorySample {
  TimeNs time = 0;
  EventId event;
  std::uint64_t total_bytes = 0, free_bytes = 0;
  std::optional<std::uint64_t> others_bytes;  // of other processes; none = nobody could tell
  bool failed_call = false;                   // others_bytes is then that of a sample close by

  std::uint64_t used_bytes() const { return total_bytes - free_bytes; }
};

// A sample and what the session knew of at that time. In a session of several logs, what is known
// of the other processes is in the layers, and others_bytes is the rest. It closes:
//   used + elsewhere = layers + pools + others + untracked
// where at most one of `untracked_bytes` and `elsewhere_bytes` is not zero.
struct LedgerEntry {
  MemorySample sample;
  std::int64_t step = -1;
  std::array<std::uint64_t, kLayerCount> by_layer{};  // of layers that occupy the device, modules
  std::uint64_t pools_bytes = 0;                      // what pools and VMM hold beyond that
  std::uint64_t untracked_bytes = 0;                  // used, and nobody knows by what
  // Known of, and not on the device: managed memory that is on the host or on another device.
  std::uint64_t elsewhere_bytes = 0;

  std::uint64_t known_bytes() const;  // layers, pools and other processes
};

struct DeviceLedger {
  std::size_t samples = 0;
  std::optional<LedgerEntry> last;  // at the last sample
  // At the instant of the highest use; what was used is computed there (HighestUse).
  std::optional<LedgerEntry> highest;
  TimeNs highest_sample_time = 0;  // of the sample that this leans on
};

// When most of a device was used, and how much. Between two samples it is what the log knows of, in
// the driver's pages, and what both samples show beyond that (contexts, other processes).
struct HighestUse {
  bool known = false;  // false without samples
  TimeNs time = 0;
  std::uint64_t bytes = 0;
  const MemorySample* sample = nullptr;  // that it leans on: at or before it, else the first
};

// The samples of every device, in order of time, looked up by ordinal. What claims more free
// memory than there is, or a device without memory, is no sample.
class MemorySamples {
 public:
  explicit MemorySamples(const Session& session);
  const std::vector<MemorySample>& Of(int device) const;

 private:
  std::vector<std::vector<MemorySample>> by_device_;
};

// Found once a session.
std::shared_ptr<const MemorySamples> SamplesOf(const Session& session);

// What a session of several processes knows itself of the share of others than the one that took
// the sample: that much of `others_bytes` is no news.
std::uint64_t KnownOfOthers(const Session& session, const MemorySample& sample, int device);

// `samples` are of the device. O(events).
HighestUse FindHighestUse(const Session& session, const std::vector<MemorySample>& samples,
                          int device);

// `timeline` is of the device. O(samples + log events).
DeviceLedger BuildLedger(const Session& session, const std::vector<MemorySample>& samples,
                         const DeviceTimeline& timeline, const HighestUse& highest);

}  // namespace memprof::analysis
