// Groups of modules at a peak.
#include "cli/peak_modules.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "analysis/module_paths.h"
#include "analysis/units.h"
#include "cli/peak_groups.h"
#include "cli/table.h"
#include "cli/text.h"

namespace memprof::cli {
namespace {

using analysis::AllocationId;
using analysis::AllocationRecord;
using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::PeakOf;
using analysis::Session;

constexpr char kNoModule[] = "(no module)";

class Modules {
 public:
  Modules(const Session& session, const analysis::Peak& peak, const analysis::PeakSavings* savings)
      : session_(session), ranges_(session, analysis::IsModuleRange) {
    if (ranges_.empty()) return;
    std::vector<AllocationId> live = peak.blocks;
    const PeakOf of = live.empty() ? PeakOf::kDriver : PeakOf::kBlocks;
    if (live.empty()) live = DriverMemory(peak);
    for (const AllocationId id : live) {
      const std::uint32_t group = GroupOf(session.record(id), true);
      rows_[group].bytes += session.record(id).bytes;
      ++rows_[group].blocks;
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
  std::vector<AllocationId> DriverMemory(const analysis::Peak& peak) const {
    std::vector<AllocationId> live;
    for (const AllocationId id : session_.LiveAfter(peak.event)) {
      const AllocationRecord& a = session_.record(id);
      if (a.device == peak.device && analysis::OccupiesDevice(a.layer)) live.push_back(id);
    }
    return live;
  }
  // By the name of the innermost range at its birth.
  std::uint32_t GroupOf(const AllocationRecord& a, bool make) {
    const auto row = ranges_.At(a.birth);
    const std::uint32_t name =
        row ? session_.ranges()[*row].name.value : analysis::StringId().value;
    const auto known = groups_.find(name);
    if (known != groups_.end()) return known->second;
    if (!make) return analysis::kNoGroup;
    const auto group = static_cast<std::uint32_t>(rows_.size());
    PeakRow fresh;
    fresh.label = row ? std::string(session_.string(analysis::StringId(name))) : kNoModule;
    rows_.push_back(std::move(fresh));
    groups_.emplace(name, group);
    return group;
  }

  const Session& session_;
  const analysis::RangesOfThreads ranges_;
  std::vector<PeakRow> rows_;
  std::unordered_map<std::uint32_t, std::uint32_t> groups_;  // by name
  std::uint64_t whole_ = 0;
};

}  // namespace

std::string ModuleText(const Session& session, const analysis::Peak& peak,
                       const analysis::PeakSavings* savings, std::size_t top) {
  const Modules modules(session, peak, savings);
  if (modules.rows().empty()) return "";
  std::string text = Cat(
      "\n  By module that ran when it was made",
      savings == nullptr || peak.blocks.empty() ? "" : " (saves: of the peak of blocks)", ":\n");
  if (savings != nullptr)
    return text + SavingsTable(session, modules.rows(), modules.whole(), top, "module");
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.Header({"bytes", "share", "blocks", "module"});
  const std::size_t all = modules.rows().size(), shown = top == 0 ? all : std::min(top, all);
  for (std::size_t i = 0; i < shown; ++i) {
    const PeakRow& row = modules.rows()[i];
    table.Row({FormatBytes(row.bytes),
               Percent(static_cast<double>(row.bytes), static_cast<double>(modules.whole())),
               FormatCount(row.blocks), row.label});
  }
  return text + table.Text(kWidth) + MoreLine(shown, all);
}

Json ModulesJson(const Session& session, const analysis::Peak& peak,
                 const analysis::PeakSavings* savings, std::size_t top) {
  const Modules modules(session, peak, savings);
  Json list = Json::array();
  for (const PeakRow& row : modules.rows()) {
    if (top != 0 && list.size() == top) break;
    list.push_back({{"bytes", row.bytes}, {"blocks", row.blocks}, {"module", row.label}});
    if (savings != nullptr) list.back()["without"] = SavingJson(session, row.saving);
  }
  return list;
}

}  // namespace memprof::cli
