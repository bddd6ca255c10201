// Stacks that end at one line of the user's program, whatever the way there and in whatever
// library, as one group: what people call a call site.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// Groups are numbered from 0 in the order in which they are asked for. Not thread-safe.
class SiteGroups {
 public:
  SiteGroups(const Session& session, Symbols& symbols)
      : symbols_(symbols), group_(session.stack_count() + 1, kNoGroup) {}

  // Stacks without frames are one group.
  std::uint32_t Of(StackId stack);
  // The group of the stacks whose site is `site`, for a stack of which this is known otherwise.
  std::uint32_t OfSite(const SourceFrame& site, StackId example);
  // The line, and the library's where it is one for all of the group that was asked about.
  const CallSite& Site(std::uint32_t group) const { return sites_[group]; }
  // The stack of a group that was asked about first.
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
