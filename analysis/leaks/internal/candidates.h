// Finds growing sites: by their blocks, by the bytes that they hold, or together with other sites
// on the same path.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/leaks/internal/words.h"
#include "analysis/leaks/leaks.h"
#include "analysis/leaks/sites.h"

namespace memprof::analysis {

// For bytes that stay whichever blocks hold them, and for groups of sites: a few rises may be
// chance.
inline constexpr std::int64_t kMinRises = 6;

struct LeakCandidate {
  LeakSite site;
  std::vector<std::size_t> sites;  // indices of the sites in it
  SiteHistory history;             // of the memory that was judged
  LeakEvidence evidence;
  Leak leak;
};

struct JudgedSites {
  std::vector<LeakCandidate> leaks;
  // Borderline: no leak by the rule, and not level either; best score first.
  std::vector<LeakCandidate> rising;
  std::vector<bool> settled;   // by index of the sites: reported, and in no further group
  std::int64_t undecided = 0;  // sites that need more steps
  std::int64_t steps_needed = 0;
  bool inputs_get_longer = false;
};

// The score and figures of one site, whether it leaks or not.
LeakCandidate WeighSite(const Session& session, const StepClock& clock, const LeakSite& site,
                        std::size_t index);

JudgedSites JudgeSites(const Session& session, const StepClock& clock,
                       const std::vector<LeakSite>& sites);

}  // namespace memprof::analysis
