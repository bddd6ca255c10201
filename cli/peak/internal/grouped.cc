// Groups of what was live at a peak.
#include "cli/peak/internal/grouped.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "analysis/base/units.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/table.h"
#include "cli/console/text.h"
#include "cli/shared/peak_groups.h"

namespace memprof::cli {
namespace {

using analysis::AllocationId;
using analysis::AllocationRecord;
using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::PeakLayer;
using analysis::Session;

class Groups {
 public:
  Groups(const Session& session, const analysis::Peak& peak, const analysis::PeakSavings* savings,
         const Grouping& grouping)
      : grouping_(grouping) {
    std::vector<AllocationId> live = peak.blocks;
    const PeakLayer of = live.empty() ? PeakLayer::kDriver : PeakLayer::kBlocks;
    if (live.empty()) live = DriverMemory(session, peak);
    for (const AllocationId id : live) {
      PeakRow& row = rows_[GroupOf(session.record(id), true)];
      row.bytes += session.record(id).bytes;
      ++row.blocks;
      whole_ += session.record(id).bytes;
    }
    if (savings != nullptr) {
      const auto saved = savings->Without(
          peak.device, of, rows_.size(),
          [this](AllocationId, const AllocationRecord& a) { return GroupOf(a, false); });
      for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i].saving = saved[i];
    }
    std::stable_sort(rows_.begin(), rows_.end(),
                     [](const PeakRow& a, const PeakRow& b) { return a.bytes > b.bytes; });
  }

  const std::vector<PeakRow>& rows() const { return rows_; }
  std::uint64_t whole() const { return whole_; }

 private:
  static std::vector<AllocationId> DriverMemory(const Session& session,
                                                const analysis::Peak& peak) {
    std::vector<AllocationId> live;
    for (const AllocationId id : session.LiveAfter(peak.event)) {
      const AllocationRecord& a = session.record(id);
      if (a.device == peak.device && analysis::OccupiesDevice(a.layer)) live.push_back(id);
    }
    return live;
  }
  std::uint32_t GroupOf(const AllocationRecord& a, bool make) {
    const std::uint32_t key = grouping_.key(a);
    const auto known = groups_.find(key);
    if (known != groups_.end()) return known->second;
    if (!make) return analysis::kNoGroup;
    const auto group = static_cast<std::uint32_t>(rows_.size());
    rows_.push_back({.label = grouping_.name(key)});
    groups_.emplace(key, group);
    return group;
  }

  const Grouping& grouping_;
  std::vector<PeakRow> rows_;
  std::unordered_map<std::uint32_t, std::uint32_t> groups_;  // by key
  std::uint64_t whole_ = 0;
};

}  // namespace

std::string GroupedText(const Session& session, const analysis::Peak& peak,
                        const analysis::PeakSavings* savings, std::size_t top,
                        const Grouping& grouping) {
  const Groups groups(session, peak, savings, grouping);
  if (groups.rows().empty()) return "";
  std::string text = Cat(
      "\n  ", grouping.title,
      savings == nullptr || peak.blocks.empty() ? "" : " (saves: of the peak of blocks)", ":\n");
  if (savings != nullptr)
    return text + SavingsTable(session, groups.rows(), groups.whole(), top, grouping.column);
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.Header({"bytes", "share", "blocks", std::string(grouping.column)});
  const std::size_t all = groups.rows().size(), shown = top == 0 ? all : std::min(top, all);
  for (std::size_t i = 0; i < shown; ++i) {
    const PeakRow& row = groups.rows()[i];
    table.Row({FormatBytes(row.bytes),
               Percent(static_cast<double>(row.bytes), static_cast<double>(groups.whole())),
               FormatCount(row.blocks), row.label});
  }
  return text + table.Text(kWidth) + MoreLine(shown, all);
}

Json GroupedJson(const Session& session, const analysis::Peak& peak,
                 const analysis::PeakSavings* savings, std::size_t top, const Grouping& grouping) {
  const Groups groups(session, peak, savings, grouping);
  Json list = Json::array();
  for (const PeakRow& row : groups.rows()) {
    if (top != 0 && list.size() == top) break;
    list.push_back({{"bytes", row.bytes}, {"blocks", row.blocks}});
    list.back()[std::string(grouping.column)] = row.label;
    if (savings != nullptr) list.back()["without"] = SavingJson(session, row.saving);
  }
  return list;
}

}  // namespace memprof::cli
