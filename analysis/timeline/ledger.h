// The ledger of a device: explains the used bytes that cuMemGetInfo reported, until nothing is left
// over.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/timeline/timeline.h"

namespace memprof::analysis {

// The driver's figures of a device at one instant: a sample, or the figures of a failed allocation.
struct MemorySample {
  TimeNs time = 0;
  EventId event;
  std::uint64_t total_bytes = 0, free_bytes = 0;
  std::optional<std::uint64_t> others_bytes;  // of other processes; none = not known
  // The system's file cache in the memory that the GPU shares with the system; none = not known.
  std::optional<std::uint64_t> file_cache_bytes;
  bool failed_call = false;  // others_bytes is then from a sample nearby
  // The part of others_bytes that processes of this session have beyond the known memory.
  std::uint64_t contexts_of_others = 0;

  std::uint64_t used_bytes() const { return total_bytes - free_bytes; }
};

// A sample, and the known memory at that time. In a session of several logs, the known memory of
// other processes is in the layers, their contexts are in untracked_bytes, and others_bytes is the
// rest. The sum is always
//   used + elsewhere = layers + pools + others + untracked
// where at most one of `untracked_bytes` and `elsewhere_bytes` is not zero.
struct LedgerEntry {
  MemorySample sample;
  std::int64_t step = -1;
  std::array<std::uint64_t, kLayerCount> by_layer{};  // of layers that occupy the device, modules
  std::uint64_t pools_bytes = 0;                      // what pools and VMM hold beyond that
  std::uint64_t untracked_bytes = 0;                  // in use, by unknown owners
  // The part of untracked_bytes that can be the system's file cache; none = not known.
  std::optional<std::uint64_t> file_cache_bytes;
  // Known memory that is not on the device: managed memory on the host or on another device.
  std::uint64_t elsewhere_bytes = 0;

  std::uint64_t known_bytes() const;  // layers, pools and other processes
};

struct DeviceLedger {
  std::size_t samples = 0;
  std::optional<LedgerEntry> last;  // at the last sample
  // At the instant of the highest use, which is computed (HighestUse).
  std::optional<LedgerEntry> highest;
  TimeNs highest_sample_time = 0;  // of the sample that the figures are based on
};

// When most of a device was used, and how much. Between two samples: the known memory, in pages of
// the driver, and what both samples show beyond it (contexts, other processes).
struct HighestUse {
  bool known = false;  // false without samples
  TimeNs time = 0;
  std::uint64_t bytes = 0;
  const MemorySample* sample = nullptr;  // its base: the last one at or before it, else the first
};

// The samples of every device, in order of time, by ordinal. Samples with more free memory than
// there is, or of a device without memory, are ignored.
class MemorySamples {
 public:
  explicit MemorySamples(const Session& session);
  const std::vector<MemorySample>& Of(int device) const;

 private:
  std::vector<std::vector<MemorySample>> by_device_;
};

// Computed once a session.
std::shared_ptr<const MemorySamples> SamplesOf(const Session& session);

// The memory of processes of this session other than the sample's, with their contexts: the part of
// `others_bytes` that is not of others.
std::uint64_t KnownOfOthers(const Session& session, const MemorySample& sample, int device);

// `samples` are of the device. O(events).
HighestUse FindHighestUse(const Session& session, const std::vector<MemorySample>& samples,
                          int device);

// `timeline` is of the device. O(samples + log events).
DeviceLedger BuildLedger(const Session& session, const std::vector<MemorySample>& samples,
                         const DeviceTimeline& timeline, const HighestUse& highest);

// At any instant: what the log knew of then, and what the sample before it (else the first one)
// showed beyond that. None without samples. O(log events), and for a session of several logs O(live
// set).
std::optional<LedgerEntry> LedgerAt(const Session& session,
                                    const std::vector<MemorySample>& samples,
                                    const DeviceTimeline& timeline, TimeNs time);

// The devices whose pools (the driver's) hold much at the last sample that nothing used, with that
// sample: a tenth of what is in use. It is no leak, but no other process can have it.
std::vector<std::pair<int, LedgerEntry>> PoolsThatKeep(const Session& session);

}  // namespace memprof::analysis
