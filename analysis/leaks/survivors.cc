// Facts about the survivors of a leak's site.
#include "analysis/leaks/survivors.h"

#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "analysis/leaks/sites.h"

namespace memprof::analysis {

void ForEachSurvivor(const Session& session, std::span<const Leak> leaks,
                     absl::FunctionRef<void(std::size_t, AllocationId)> each) {
  // Process × stack × layer × device, × size without a stack, as leaks are grouped.
  using Key = std::tuple<std::uint32_t, std::uint32_t, Layer, int, std::uint64_t>;
  const auto key_of = [&session](const AllocationRecord& a) {
    return Key(session.ProcessOf(a.birth), a.stack.value, a.layer, a.device,
               a.stack.valid() ? 0 : a.bytes);
  };
  absl::flat_hash_map<Key, std::size_t> row_of;
  for (std::size_t i = 0; i < leaks.size(); ++i)
    if (leaks[i].example.valid()) row_of[key_of(session.record(leaks[i].example))] = i;
  if (row_of.empty()) return;
  const std::vector<StepClock> clocks = ClocksForLeaks(session);
  const auto records = session.records();
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationRecord& a = records[i];
    const std::uint32_t process = session.ProcessOf(a.birth);
    if (!a.alive() && (process >= clocks.size() || !AliveWhenJudged(clocks[process], a))) continue;
    const auto row = row_of.find(key_of(a));
    if (row != row_of.end()) each(row->second, AllocationId(i));
  }
}

std::vector<SurvivorFacts> DescribeSurvivors(const Session& session, std::span<const Leak> leaks,
                                             const AllocationSet* passing,
                                             const Accesses* accesses) {
  std::vector<SurvivorFacts> facts(leaks.size());
  ForEachSurvivor(session, leaks, [&](std::size_t leak, AllocationId id) {
    SurvivorFacts& fact = facts[leak];
    ++fact.blocks;
    if (passing == nullptr || passing->Has(id)) ++fact.passing;
    if (accesses == nullptr) return;
    const std::span<const Access> uses = accesses->Of(id);
    if (uses.empty()) return;
    ++fact.used;
    const EventId last = uses.back().event;
    if (!fact.last_use.valid() || fact.last_use < last) fact.last_use = last;
  });
  return facts;
}

}  // namespace memprof::analysis
