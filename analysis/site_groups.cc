// Joins stacks by function, file and line of their sites.
#include "analysis/site_groups.h"

#include <algorithm>

namespace memprof::analysis {

std::string SiteGroups::NameOf(const SourceFrame& site) {
  return site.function + '\n' + site.file + '\n' + std::to_string(site.line);
}

std::uint32_t SiteGroups::Named(std::string name, StackId example) {
  const auto [at, fresh] =
      by_name_.try_emplace(std::move(name), static_cast<std::uint32_t>(examples_.size()));
  if (fresh) examples_.push_back(example);
  return at->second;
}

std::uint32_t SiteGroups::OfSite(const SourceFrame& site, StackId example) {
  return Named(NameOf(site), example);
}

std::uint32_t SiteGroups::Of(StackId stack) {
  const std::size_t slot = std::min<std::size_t>(stack.value, group_.size() - 1);
  if (group_[slot] == kNoGroup)
    group_[slot] = Named(stack.valid() ? NameOf(symbols_.Site(stack)) : std::string(), stack);
  return group_[slot];
}

}  // namespace memprof::analysis
