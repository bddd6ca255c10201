// One function for each table; what a table and `memprof report` share is in the Report.
#pragma once

#include <vector>

#include "analysis/categories/categories.h"
#include "analysis/fleet/internal/sites.h"
#include "analysis/fleet/rows.h"
#include "analysis/leaks/clock.h"
#include "analysis/report/report.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis::fleet {

// What all tables are made of.
struct Source {
  const Session& session;
  Symbols& symbols;
  const Report& report;
  const StepClock& clock;
  FleetSites& sites;
};

RunRow RunOf(const Source& source);
std::vector<StepRow> StepsOf(const Source& source);
std::vector<SiteStepRow> SiteStepsOf(const Source& source);
std::vector<LedgerRow> LedgerOf(const Source& source);
std::vector<CategoryRow> CategoriesOf(const Source& source);
std::vector<LeakRow> LeaksOf(const Source& source);
std::vector<OomRow> OomsOf(const Source& source);
std::vector<FragmentationRow> FragmentationOf(const Source& source);
std::vector<AdviceRow> AdviceOf(const Source& source);

// When the log began, or its first event.
TimeNs StartOf(const Session& session);
// Whether the program held memory of the device.
bool WasUsed(const DeviceFigures& device);

}  // namespace memprof::analysis::fleet
