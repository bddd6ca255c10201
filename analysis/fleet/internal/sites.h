// The sites of a log by keys that other logs share.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "analysis/base/numbering.h"
#include "analysis/fleet/rows.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis::fleet {

// Not thread-safe.
class FleetSites {
 public:
  FleetSites(const Session& session, Symbols& symbols);

  // Numbers the sites from 1, in the order of their first query. 0: no stack.
  std::uint32_t NumberOf(StackId stack);
  // The hash of a site's key; "" for 0. The site gets a row.
  std::string Name(std::uint32_t number);
  std::string NameOf(StackId stack) { return Name(NumberOf(stack)); }
  std::uint32_t size() const { return keys_.size(); }

  // Of all sites that were named, by their hash.
  std::vector<SiteRow> Rows() const;

 private:
  Symbols& symbols_;
  Numbering<std::string> keys_;
  std::vector<StackId> examples_;        // by number
  std::vector<std::uint32_t> of_stack_;  // by stack
  std::set<std::uint32_t> named_;
};

}  // namespace memprof::analysis::fleet
