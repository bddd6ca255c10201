// The call stacks of the memory that a comparison counts.
#include "analysis/diff/stacks.h"

#include "analysis/diff/internal/parts.h"
#include "analysis/peak/finder.h"

namespace memprof::analysis {

EventId LastEvent(const Session& session) {
  return session.events().empty()
             ? EventId()
             : EventId(static_cast<std::uint32_t>(session.events().size() - 1));
}

std::vector<AllocationId> CountedAfter(const Session& session, const LeafMemory& leaf,
                                       EventId event, int device, const AllocationSet* passing) {
  std::vector<AllocationId> ids = session.LiveAfter(event, kLeafLayers);
  std::erase_if(ids, [&](AllocationId id) {
    return !leaf.Counts(id) || (device != kNoDevice && session.record(id).device != device) ||
           (passing != nullptr && !passing->Has(id));
  });
  return ids;
}

std::vector<AllocationId> CountedAtPeaks(const Session& session, const LeafMemory& leaf,
                                         const AllocationSet* passing) {
  // As FindPeaks: of the instants with the maximum, the one at which most was in use.
  const auto sum_of = [](const AllocationRecord& a) -> std::size_t {
    if (OccupiesDevice(a.layer)) return 0;
    if (a.layer == Layer::kBlock) return 1;
    return a.layer == Layer::kTensor ? 2 : 3;
  };
  const PeakFinder<3> finder(session, sum_of);
  std::vector<AllocationId> all;
  for (const auto& [device, mark] : finder.marks()) {
    if (!mark.event.valid()) continue;
    const auto ids = CountedAfter(session, leaf, mark.event, device, passing);
    all.insert(all.end(), ids.begin(), ids.end());
  }
  return all;
}

std::vector<Site> StacksOfRun(const Session& session, DiffMoment moment,
                              const AllocationSet* passing) {
  const LeafMemory leaf(session);
  return GroupBySite(session,
                     moment == DiffMoment::kPeak
                         ? CountedAtPeaks(session, leaf, passing)
                         : CountedAfter(session, leaf, LastEvent(session), kNoDevice, passing));
}

std::vector<Site> StacksAfter(const Session& session, EventId event, const AllocationSet* passing) {
  return GroupBySite(session,
                     CountedAfter(session, LeafMemory(session), event, kNoDevice, passing));
}

}  // namespace memprof::analysis
