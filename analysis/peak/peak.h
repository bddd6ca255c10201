// When each device held most, and what was live then.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "analysis/peak/sites.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

struct Peak {
  int device = 0;
  std::uint64_t bytes = 0;  // of layers that occupy the device, as requested
  // The first instant of the maximum. If a framework's allocator keeps memory in reserve, the
  // maximum lasts long: then, of its instants, the first at which most of it was in use (live
  // blocks, then live tensors).
  TimeNs time = 0;
  std::int64_t step = -1;
  EventId event;                                      // after which this holds
  std::array<std::uint64_t, kLayerCount> by_layer{};  // live at that instant, all layers
  std::vector<Site> sites;                            // device layers, largest first
  std::vector<AllocationId> tensors;                  // live tensors at that instant, largest first
  std::vector<AllocationId> blocks;                   // live blocks at that instant, largest first
};

// One per device that had any allocation. A framework's figures are of the same instant.
std::vector<Peak> FindPeaks(const Session& session);
// Computed once a session.
std::shared_ptr<const std::vector<Peak>> PeaksOf(const Session& session);

// What is live at any instant, in the form of a peak.
Peak DescribeInstant(const Session& session, int device, TimeNs time);

}  // namespace memprof::analysis
