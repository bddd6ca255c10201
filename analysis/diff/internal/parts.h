// Shared by comparisons of two runs and of two moments.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analysis/diff/diff.h"
#include "analysis/peak/run_profile.h"

namespace memprof::analysis {

// The live memory of the compared moment, by place of the alignment.
struct LiveByPlace {
  std::vector<std::uint64_t> bytes, count;

  explicit LiveByPlace(std::size_t places) : bytes(places), count(places) {}
  void Add(std::uint32_t place, std::uint64_t more) {
    bytes[place] += more;
    ++count[place];
  }
};

// The layers that LeafMemory counts.
inline constexpr std::uint32_t kLeafLayers = kDeviceLayers | LayerBit(Layer::kBlock);

// None of a log without events.
EventId LastEvent(const Session& session);

// The allocations that call sites are compared by: live after `event` on `device` (kNoDevice =
// all), or on each device at its peak; of `passing` (null = all).
std::vector<AllocationId> CountedAfter(const Session& session, const LeafMemory& leaf,
                                       EventId event, int device, const AllocationSet* passing);
std::vector<AllocationId> CountedAtPeaks(const Session& session, const LeafMemory& leaf,
                                         const AllocationSet* passing);

std::uint64_t PeakIn(const StepProfile& step, int device);

// The variation of a figure over the steady steps.
template <typename Of>
double VariationOf(const RunProfile& profile, Of of) {
  Variation variation;
  for (std::size_t i = profile.steady_begin + 1; i < profile.steady_end; ++i)
    if (profile.Steady(i - 1) && profile.Steady(i))
      variation.Add(of(profile.steps[i - 1]), of(profile.steps[i]));
  return static_cast<double>(variation.bytes());
}

// One for each place.
std::vector<DiffSite> CompareSites(const RunProfile& before, const LiveByPlace& before_live,
                                   const RunProfile& after, const LiveByPlace& after_live);
// Removes sites in which nothing changed, or nothing passes; sorts the others.
void SortSites(std::vector<DiffSite>& sites, bool filtered);

}  // namespace memprof::analysis
