// Which sites grow, by their blocks, by what they hold, or together with others on the same way.
//
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/leaks/internal/words.h"
#include "analysis/leaks/leaks.h"
#include "analysis/leaks/sites.h"

namespace memprof::analysis {

// Of memory that stays whichever blocks hold it, and of sites that are judged together: chance
// makes a few rises that look like growth.
inline constexpr std::int64_t kMinRises = 6;

struct LeakCandidate {
  LeakSite site;
  std::vector<std::size_t> sites;  // indices of those that it was made of
  SiteHistory history;             // of what was judged
  LeakEvidence evidence;
  Leak leak;
};

struct JudgedSites {
  std::vector<LeakCandidate> leaks;
  // Borderline: not a leak by the rule, and not level either; best score first.
  std::vector<LeakCandidate> rising;
  std::vector<bool> told;      // by index of the sites: no part of a group any more
  std::int64_t undecided = 0;  // sites that need more steps
  std::int64_t steps_needed = 0;
};

// Score and figures of one site, whatever they are.
LeakCandidate WeighSite(const Session& session, const StepClock& clock, const LeakSite& site,
                        std::size_t index);

JudgedSites JudgeSites(const Session& session, const StepClock& clock,
                       const std::vector<LeakSite>& sites);

}  // namespace memprof::analysis
