// The parts of the explanation of a failed request.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "analysis/oom/oom.h"
#include "analysis/timeline/address_map.h"

namespace memprof::analysis::oom {

constexpr std::uint64_t RoundUp(std::uint64_t bytes, std::uint64_t to) {
  return bytes > ~std::uint64_t{0} - to ? bytes / to * to : (bytes + to - 1) / to * to;
}

// The state of the device at a failure.
struct Scene {
  const Session* session = nullptr;
  FailedRequest request;
  bool small_pool = false;
  std::uint64_t stream = 0, private_pool = 0;
  std::vector<MapSegment> segments;  // of allocators, on the device
  std::vector<bool> own;             // by segment: it could serve the request
  std::vector<AllocationId> direct;  // driver memory that no allocator divides
  DeviceSpace space;

  // The free memory that the driver needs for the request, if no reserved piece serves it.
  std::uint64_t need() const {
    return request.driver_bytes != 0 ? request.driver_bytes : request.bytes;
  }
};

// Of the process whose request failed.
inline std::span<const StepInfo> StepsOf(const Scene& scene) {
  return scene.session->StepsOf(scene.session->ProcessOf(scene.request.event));
}

// `samples` and `timeline` are of the request's device; `timeline` is null if the log has no memory
// of the device.
Scene LayOut(const Session& session, const FailedRequest& request,
             const std::vector<MemorySample>& samples, const DeviceTimeline* timeline);
FailureCause CauseOf(const Scene& scene);
// Needs the sites and the changes of `report`.
std::vector<Remedy> FindRemedies(const Scene& scene, SiteGroups& groups,
                                 const FailureReport& report);
// Blocks and undivided driver memory by site, largest first.
std::vector<SiteUse> UsesOf(const Scene& scene, SiteGroups& groups);
// Blocks and undivided driver memory.
std::vector<AllocationId> LiveIn(const Scene& scene);
// Whether the request fits without the memory of the sites for which `absent` is true. `gives`:
// what the driver then gets back; `largest`: the largest piece that the allocator could use.
struct Without {
  std::uint64_t gives = 0, largest = 0;
  bool fits = false;
};
Without EvaluateWithout(const Scene& scene, SiteGroups& groups, const std::vector<bool>& absent);
// Needs the cause, the sites and the remedies of `report`.
void FindGrowth(const Scene& scene, Symbols& symbols, SiteGroups& groups,
                const std::vector<Leak>& leaks, FailureReport* report);
// The line that left most memory behind, if it did so in each iteration until the failure;
// `growing` gets the groups of what is live through it. O(events).
std::optional<FailureGrowth> FindIterations(const Scene& scene, Symbols& symbols,
                                            SiteGroups& groups,
                                            absl::flat_hash_set<std::uint32_t>* growing);
// O(allocations).
void FindFirstStep(const Scene& scene, Symbols& symbols, FailureReport* report);
// Needs the comparison with the step before. O(events).
void FindLargerStep(const Scene& scene, const SiteGroups& groups, FailureReport* report);
// Adds the changes of the training with which no request would have failed.
void AddTraining(const PeakRemedies& training, FailureReport* report);
// Compares live memory by site with the step before.
void CompareWithStepBefore(const Scene& scene, SiteGroups& groups, FailureReport& report);

}  // namespace memprof::analysis::oom
