// Joins exports and imports by the number of their handle.
#include "analysis/leaks/exports.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "analysis/base/units.h"

namespace memprof::analysis {

Exports::Exports(const Session& session)
    : session_(session), any_(session.events().Has(Op::kExported)) {
  const EventTable& events = session.events();
  if (!any_) return;
  const std::span<const AllocationRecord> records = session.records();
  for (std::uint32_t i = 0; i < records.size(); ++i)
    if (records[i].import_kind == ImportKind::kIpc && records[i].birth.valid())
      imports_[events.aux0(records[i].birth.value)].push_back(AllocationId(i));
}

Exported Exports::Of(std::span<const AllocationId> ids) const {
  Exported exported;
  std::set<AllocationId> imports;
  for (const AllocationId id : any_ ? ids : std::span<const AllocationId>()) {
    bool found = false;
    for (AllocationId at = id; at.valid(); at = session_.record(at).parent) {
      for (const EventId mark : session_.Marks(at)) {
        if (session_.events().op(mark.value) != Op::kExported) continue;
        found = true;
        const auto opened = imports_.find(session_.events().aux0(mark.value));
        if (opened != imports_.end()) imports.insert(opened->second.begin(), opened->second.end());
      }
    }
    exported.blocks += found ? 1 : 0;
  }
  const std::vector<AllocationId> all(imports.begin(), imports.end());
  exported.opened = OpenedBy(all);
  exported.holders = HoldersOf(session_)->Of(all);
  return exported;
}

std::vector<Opened> Exports::OpenedBy(const std::vector<AllocationId>& imports) const {
  std::map<std::uint32_t, Opened> opened;
  for (const AllocationId id : imports) {
    const AllocationRecord& record = session_.record(id);
    const std::uint32_t process = session_.ProcessOf(record.birth);
    const auto [at, fresh] = opened.try_emplace(process, Opened{process, true, 0});
    if (record.end_reason != EndReason::kFreed || !record.death.valid())
      at->second.closed = false;
    else
      at->second.closed_time =
          std::max(at->second.closed_time, session_.events().time(record.death.value));
  }
  std::vector<Opened> sorted;
  for (const auto& [process, one] : opened) sorted.push_back(one);
  return sorted;
}

std::shared_ptr<const Exports> ExportsOf(const Session& session) {
  return session.facts().Get<Exports>([&] { return Exports(session); });
}

std::string ExportedWords(const Session& session, const Exported& exported, std::uint64_t of) {
  if (exported.blocks == 0) return "";
  std::string words = absl::StrCat(
      exported.blocks == of ? "It lies" : absl::StrCat(FormatCount(exported.blocks), " of it lie"),
      " in memory that was exported by IPC");
  for (const Opened& one : exported.opened) {
    const ProcessInfo& process = session.processes()[one.process];
    absl::StrAppend(&words, "; ",
                    process.rank >= 0 ? absl::StrCat("rank ", process.rank)
                                      : absl::StrCat("process ", one.process + 1),
                    " (pid ", process.run.pid, ") opened it",
                    one.closed ? absl::StrCat(" and closed all of it, the last after ",
                                              FormatDuration(session.SinceStart(one.closed_time)))
                               : " and never closed it");
  }
  if (!exported.holders.empty())
    absl::StrAppend(&words, ", where ", exported.holders.front().path, " held it");
  return words + ".";
}

}  // namespace memprof::analysis
