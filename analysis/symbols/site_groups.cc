// Joins stacks by function, file and line of their sites.
#include "analysis/symbols/site_groups.h"

#include <algorithm>

namespace memprof::analysis {

std::string SiteGroups::NameOf(const SourceFrame& site) {
  return site.function + '\n' + site.file + '\n' + std::to_string(site.line);
}

std::uint32_t SiteGroups::Named(CallSite site, StackId example) {
  const auto [at, fresh] =
      by_name_.try_emplace(NameOf(site.user), static_cast<std::uint32_t>(examples_.size()));
  if (fresh) {
    examples_.push_back(example);
    sites_.push_back(std::move(site));
  } else if (sites_[at->second].in_library() &&
             NameOf(sites_[at->second].library) != NameOf(site.library)) {
    sites_[at->second].library = {};
  }
  return at->second;
}

std::uint32_t SiteGroups::OfSite(const SourceFrame& site, StackId example) {
  const auto known = by_name_.find(NameOf(site));
  return known != by_name_.end() ? known->second : Named({.user = site}, example);
}

std::uint32_t SiteGroups::Of(StackId stack) {
  const std::size_t slot = std::min<std::size_t>(stack.value, group_.size() - 1);
  if (group_[slot] == kNoGroup)
    group_[slot] = Named(stack.valid() ? symbols_.SiteOf(stack) : CallSite(), stack);
  return group_[slot];
}

}  // namespace memprof::analysis
