// Where memory was asked for, as a person counts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/peak/sites.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::cli {

// Stacks with one site, whatever the way there, as one: what the tables of the text show.
struct Place {
  std::string site;  // SiteLabel()
  std::string key;   // SiteKey()
  std::uint64_t bytes = 0, blocks = 0;
  analysis::AllocationId largest;
};
// Largest first. Sites of different layers stay apart.
std::vector<Place> JoinByPlace(analysis::Symbols& symbols, const std::vector<analysis::Site>& sites,
                               const analysis::Session& session);

}  // namespace memprof::cli
