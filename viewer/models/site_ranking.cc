// Call sites with their bytes, joined by their text.
#include "viewer/models/site_ranking.h"

#include <algorithm>
#include <map>

#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

struct RankedGroup {
  RankedRow row;
  std::uint64_t largest = 0;  // bytes of the stack that the row stands for
  std::uint64_t blocks = 0, stacks = 0;
};

}  // namespace

std::vector<RankedRow> RankSites(const std::vector<analysis::Site>& sites,
                                 analysis::Symbols& symbols) {
  std::vector<analysis::StackId> stacks;
  for (const analysis::Site& site : sites) stacks.push_back(site.stack);
  const std::vector<NamedSite> named = NameSites(symbols, stacks);
  std::map<QString, RankedGroup> groups;  // by key
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const analysis::Site& site = sites[i];
    RankedGroup& group = groups[named[i].key];
    if (group.stacks == 0 || site.bytes > group.largest) {
      group.row.name = named[i].name;
      group.row.detail = site.stack.valid()
                             ? ToQString(analysis::Symbols::Describe(symbols.Site(site.stack)))
                             : named[i].name;
      group.row.key = named[i].key;
      group.row.site = site.stack;
      group.largest = site.bytes;
    }
    group.row.bytes += site.bytes;
    group.blocks += site.blocks;
    ++group.stacks;
  }
  std::vector<RankedRow> rows;
  for (auto& [key, group] : groups) {
    group.row.detail += QLatin1Char('\n') + FormatPlural(group.blocks, QStringLiteral("block"));
    if (group.stacks > 1) {
      group.row.detail += QStringLiteral(" by %1 call stacks; choosing it shows the largest, %2")
                              .arg(FormatCount(group.stacks), FormatBytes(group.largest));
    }
    rows.push_back(std::move(group.row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const RankedRow& a, const RankedRow& b) { return a.bytes > b.bytes; });
  return rows;
}

}  // namespace memprof::viewer
