// Call sites with their bytes, as people rank them.
#include "viewer/models/site_ranking.h"

#include <algorithm>
#include <map>

#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

struct Group {
  RankedRow row;
  std::uint64_t largest = 0;  // bytes of the stack that the row stands for
  std::uint64_t blocks = 0, stacks = 0;
};

}  // namespace

std::vector<RankedRow> RankSites(const std::vector<analysis::Site>& sites,
                                 analysis::Symbols& symbols) {
  std::map<QString, Group> groups;
  for (const analysis::Site& site : sites) {
    const analysis::SourceFrame frame =
        site.stack.valid() ? symbols.Site(site.stack) : analysis::SourceFrame();
    const QString name = SiteName(symbols, site.stack);
    Group& group = groups[name];
    if (group.stacks == 0 || site.bytes > group.largest) {
      group.row.name = name;
      group.row.detail = site.stack.valid() ? ToQString(analysis::Symbols::Describe(frame)) : name;
      group.row.site = site.stack;
      group.largest = site.bytes;
    }
    group.row.bytes += site.bytes;
    group.blocks += site.blocks;
    ++group.stacks;
  }
  std::vector<RankedRow> rows;
  for (auto& [name, group] : groups) {
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
