// Two runs, or two moments of one, compared by category and by layer.
#include "analysis/diff/groups.h"

#include "analysis/peak/peak.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

// Adds the memory live on `device` after `event` to one side.
void Add(const Session& session, const Categories& categories, int device, EventId event,
         std::uint64_t DiffShare::*side, DiffGroups* groups) {
  if (!event.valid()) return;
  const CategoryTotals totals = categories.At(device, event);
  for (std::size_t i = 0; i < kCategoryCount; ++i) groups->categories[i].*side += totals.bytes[i];
  for (const AllocationId id : session.LiveAfter(event, ~0u)) {
    const AllocationRecord& a = session.record(id);
    if (a.device == device) groups->layers[static_cast<std::size_t>(a.layer)].*side += a.bytes;
  }
}

void AddAll(const Session& session, const Categories& categories, EventId event,
            std::uint64_t DiffShare::*side, DiffGroups* groups) {
  for (const int device : DeviceOrdinals(session))
    Add(session, categories, device, event, side, groups);
}

void AddRun(const Session& session, const Categories& categories, DiffMoment moment,
            std::uint64_t DiffShare::*side, DiffGroups* groups) {
  if (session.events().empty()) return;
  if (moment == DiffMoment::kEnd) {
    const auto last = static_cast<std::uint32_t>(session.events().size() - 1);
    AddAll(session, categories, EventId(last), side, groups);
    return;
  }
  const auto peaks = PeaksOf(session);
  for (const Peak& peak : *peaks) Add(session, categories, peak.device, peak.event, side, groups);
}

}  // namespace

DiffGroups GroupRuns(const Session& before, const Categories& before_categories,
                     const Session& after, const Categories& after_categories, DiffMoment moment) {
  DiffGroups groups;
  AddRun(before, before_categories, moment, &DiffShare::before, &groups);
  AddRun(after, after_categories, moment, &DiffShare::after, &groups);
  return groups;
}

DiffGroups GroupMoments(const Session& session, const Categories& categories, EventId from,
                        EventId to) {
  DiffGroups groups;
  AddAll(session, categories, from, &DiffShare::before, &groups);
  AddAll(session, categories, to, &DiffShare::after, &groups);
  return groups;
}

}  // namespace memprof::analysis
