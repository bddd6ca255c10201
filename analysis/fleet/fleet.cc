// All tables of a log.
#include "analysis/fleet/fleet.h"

#include "analysis/fleet/hash.h"
#include "analysis/fleet/internal/tables.h"
#include "analysis/timeline/timeline.h"

namespace memprof::analysis {

FleetRows RollUp(const std::shared_ptr<const Session>& session, Symbols& symbols) {
  const Report report = BuildReport(*session);
  const StepClock clock(*session);
  fleet::FleetSites sites(*session, symbols);
  const fleet::Source source{*session, symbols, report, clock, sites};
  FleetRows rows;
  rows.run_id = RunIdOf(session->run());
  rows.run = fleet::RunOf(source);
  rows.rank_step = fleet::StepsOf(source);
  rows.ledger = fleet::LedgerOf(source);
  rows.ooms = fleet::OomsOf(source);
  session->facts().Forget<DeviceTimelines>();  // large, and not needed any more
  rows.rank_site_step = fleet::SiteStepsOf(source);
  rows.categories = fleet::CategoriesOf(source);
  rows.leaks = fleet::LeaksOf(source);
  rows.fragmentation = fleet::FragmentationOf(source);
  rows.advice = fleet::AdviceOf(source);
  rows.sites = sites.Rows();
  return rows;
}

}  // namespace memprof::analysis
