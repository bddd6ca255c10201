// Groups stacks that end at one line of the user's program, by whatever path and in whatever
// library: these are the call sites of tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// Groups are numbered from 0 in the order of their first query. Not thread-safe.
class SiteGroups {
 public:
  SiteGroups(const Session& session, Symbols& symbols)
      : symbols_(symbols), group_(session.stack_count() + 1, kNoGroup) {}

  // Stacks without frames are one group.
  std::uint32_t Of(StackId stack);
  // The group of the stacks whose site is `site`; `example`: a stack with that site.
  std::uint32_t OfSite(const SourceFrame& site, StackId example);
  // The line, and the library's line if it is the same for the whole group so far.
  const CallSite& Site(std::uint32_t group) const { return sites_[group]; }
  // The first stack of a group that was queried.
  StackId Example(std::uint32_t group) const { return examples_[group]; }
  std::size_t size() const { return examples_.size(); }

 private:
  static constexpr std::uint32_t kNoGroup = 0xffffffff;
  static std::string NameOf(const SourceFrame& site);

  std::uint32_t Named(CallSite site, StackId example);

  Symbols& symbols_;
  std::vector<std::uint32_t> group_;
  std::vector<StackId> examples_;
  std::vector<CallSite> sites_;
  absl::flat_hash_map<std::string, std::uint32_t> by_name_;
};

}  // namespace memprof::analysis
