// The peak without a site, a layer, a tensor or any other group of allocations, and the saving,
// which is at most the group's bytes: the second-highest peak limits it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/peak/change.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

struct PeakSaving {
  NewPeak without;  // the peak of the whole run without the group
  std::uint64_t saves_bytes = 0;
};

// Immutable once built, hence thread-safe. Construction is one pass over the events.
class PeakSavings {
 public:
  using GroupOf = std::function<std::uint32_t(AllocationId, const AllocationRecord&)>;

  explicit PeakSavings(const Session& session) : session_(session), levels_(session) {}

  const PeakLevels& levels() const { return levels_; }
  // The actual peak; 0 bytes if there was no such memory.
  NewPeak PeakAsItWas(int device, PeakLayer of) const;

  // For each of `groups` groups: `group_of` returns the group of an allocation of the level
  // (kNoGroup: none). All allocations of the log count, also those that were not live at the peak.
  std::vector<PeakSaving> Without(int device, PeakLayer of, std::size_t groups,
                                  const GroupOf& group_of) const;
  // The same for groups of tensors: without a tensor, its block would not be needed, or the
  // driver's allocation if there are no blocks. A block that had tensors of several groups at any
  // time stays.
  std::vector<PeakSaving> WithoutTensors(int device, std::size_t groups,
                                         const GroupOf& group_of) const;
  // Without this one allocation; for a tensor, without its block.
  PeakSaving WithoutOne(AllocationId id) const;
  // With other sizes, all at once: `bytes_of` returns the new size of an allocation of the level
  // (the old size: no change). Larger sizes may raise the peak; then nothing is saved.
  using BytesOf = std::function<std::uint64_t(AllocationId, const AllocationRecord&)>;
  PeakSaving WithSizes(int device, PeakLayer of, const BytesOf& bytes_of) const;
  // The peak that matters for tensors of `device`: that of blocks, if it ever had any.
  PeakLayer TensorPeakLayer(int device) const;

 private:
  // The allocation of a level that `id` is, or lies in; none if there is none.
  AllocationId OwnerOf(AllocationId id) const;

  const Session& session_;
  PeakLevels levels_;
};

}  // namespace memprof::analysis
