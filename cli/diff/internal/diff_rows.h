// The rows of comparisons, for text and for Markdown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/diff/diff.h"
#include "cli/diff/internal/diff_text.h"

namespace memprof::cli {

// What it is, before, after, the change, the change in percent, a remark.
using FigureRow = std::vector<std::string>;
std::vector<FigureRow> FigureRows(const analysis::DiffReport& report, bool moments);

struct SiteRows {
  // The change, before, after, the change of the number of blocks, a remark, the site.
  std::vector<std::vector<std::string>> rows;  // `top` at most
  std::size_t total = 0;                       // that reach the threshold
  std::size_t small = 0;                       // that changed by less
};
SiteRows MakeSiteRows(const analysis::DiffReport& report, bool moments, std::uint64_t threshold,
                      std::size_t top);

std::string SiteName(const analysis::DiffReport& report, const analysis::DiffSite& site);
std::string_view SitesTitle(const DiffSides& sides);

}  // namespace memprof::cli
