// Groups of the memory live at a peak.
#include "cli/peak/internal/grouped.h"

#include <vector>

#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/text.h"
#include "cli/shared/savings_text.h"

namespace memprof::cli {
namespace {

using analysis::PeakGroup;
using analysis::Session;

std::vector<PeakGroup> Groups(const Session& session, const analysis::Peak& peak,
                              const analysis::PeakSavings* savings, const Grouping& grouping) {
  const analysis::LiveMemory live = analysis::LiveMemoryAt(session, peak);
  std::vector<PeakGroup> groups = analysis::GroupBy(session, live.ids, grouping.key);
  if (savings != nullptr)
    analysis::AddSavings(*savings, peak.device, live.of, grouping.key, &groups);
  return groups;
}

}  // namespace

std::string GroupedText(const Session& session, const analysis::Peak& peak,
                        const analysis::PeakSavings* savings, std::size_t top,
                        const Grouping& grouping) {
  std::vector<PeakRow> rows;
  std::uint64_t whole = 0;
  for (const PeakGroup& group : Groups(session, peak, savings, grouping)) {
    rows.push_back({grouping.name(group.key), group.bytes, group.count, group.saving});
    whole += group.bytes;
  }
  if (rows.empty()) return "";
  return Cat("\n  ", grouping.title,
             savings == nullptr || peak.blocks.empty() ? "" : " (saves: of the peak of blocks)",
             ":\n", PeakTable(session, rows, savings != nullptr, whole, top, grouping.column));
}

Json GroupedJson(const Session& session, const analysis::Peak& peak,
                 const analysis::PeakSavings* savings, std::size_t top, const Grouping& grouping) {
  Json list = Json::array();
  for (const PeakGroup& group : Groups(session, peak, savings, grouping)) {
    if (top != 0 && list.size() == top) break;
    list.push_back({{"bytes", group.bytes}, {"blocks", group.count}});
    list.back()[std::string(grouping.column)] = grouping.name(group.key);
    if (savings != nullptr) list.back()["without"] = SavingJson(session, group.saving);
  }
  return list;
}

}  // namespace memprof::cli
