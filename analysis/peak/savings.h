// What the peak would be without a site, a layer, a tensor or any other group of allocations, and
// how much of the group's bytes that saves: the second-highest peak limits it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/peak/change.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

struct PeakSaving {
  NewPeak without;  // the peak of the whole run, had the group never been allocated
  std::uint64_t saves_bytes = 0;
};

// Immutable once built, hence thread-safe. Construction is one pass over the events.
class PeakSavings {
 public:
  using GroupOf = std::function<std::uint32_t(AllocationId, const AllocationRecord&)>;

  explicit PeakSavings(const Session& session) : session_(session), levels_(session) {}

  const PeakLevels& levels() const { return levels_; }
  // As it was; of 0 bytes where there was no such memory.
  NewPeak PeakAsItWas(int device, PeakLayer of) const;

  // For each of `groups` groups: `group_of` says to which group an allocation of the level belongs
  // (kNoGroup: to none). All allocations of the log count, also those that were not live at the
  // peak.
  std::vector<PeakSaving> Without(int device, PeakLayer of, std::size_t groups,
                                  const GroupOf& group_of) const;
  // The same for groups of tensors: without a tensor there would be no need of the block that it
  // lies in, or of the driver's allocation where there are no blocks. A block that tensors of
  // several groups lie in at one time or another stays.
  std::vector<PeakSaving> WithoutTensors(int device, std::size_t groups,
                                         const GroupOf& group_of) const;
  // Without this one allocation (of a tensor: without what it lies in).
  PeakSaving WithoutOne(AllocationId id) const;
  // With other sizes, all at once: `bytes_of` gives the new size of an allocation of the level (its
  // own: no change). What grows may raise the peak; then nothing is saved.
  using BytesOf = std::function<std::uint64_t(AllocationId, const AllocationRecord&)>;
  PeakSaving WithSizes(int device, PeakLayer of, const BytesOf& bytes_of) const;
  // The peak that is about tensors of `device`: that of blocks, if it ever had any.
  PeakLayer TensorPeakLayer(int device) const;

 private:
  // What `id` is or lies in that is of a level; none if nothing is.
  AllocationId OwnerOf(AllocationId id) const;

  const Session& session_;
  PeakLevels levels_;
};

}  // namespace memprof::analysis
