// Prints groups of a peak.
#include "cli/shared/savings_text.h"

#include <algorithm>

#include "analysis/base/units.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/table.h"
#include "cli/console/text.h"
#include "cli/shared/names.h"

namespace memprof::cli {

using analysis::AllocationRecord;
using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::Session;

const std::string& SiteLabels::Of(analysis::StackId stack) {
  const auto at = labels_.find(stack.value);
  if (at != labels_.end()) return at->second;
  return labels_.emplace(stack.value, SiteLabel(symbols_, stack)).first->second;
}

analysis::GroupKey TensorNames::Key() {
  return [this](analysis::AllocationId, const AllocationRecord& a) {
    const analysis::StackId made_at = origins_.Of(a);
    const auto [known, fresh] = known_.try_emplace({a.tensor().value, made_at.value}, 0);
    if (fresh) {
      const auto* tensor = session_.tensor(a.tensor());
      known->second = names_.Of({TensorName(tensor), TensorShape(tensor), labels_.Of(made_at)});
    }
    return known->second;
  };
}

std::string PeakTable(const Session& session, const std::vector<PeakRow>& rows, bool savings,
                      std::uint64_t whole, std::size_t top, std::string_view what) {
  const bool counted =
      std::any_of(rows.begin(), rows.end(), [](const PeakRow& row) { return row.blocks > 0; });
  const auto cells = [&](std::vector<std::string> first, std::string blocks,
                         std::vector<std::string> saved, std::string last) {
    if (counted) first.push_back(std::move(blocks));
    if (savings) first.insert(first.end(), saved.begin(), saved.end());
    first.push_back(std::move(last));
    return first;
  };
  std::vector<std::string> header =
      cells({"bytes", "share"}, "blocks", {"saves", "new peak", "at"}, std::string(what));
  std::vector<Align> columns(header.size() - 1, Align::kRight);
  columns.push_back(Align::kLeft);
  Table table(std::move(columns));
  table.Header(std::move(header));
  const std::size_t shown = Shown(rows.size(), top);
  for (std::size_t i = 0; i < shown; ++i) {
    const PeakRow& row = rows[i];
    table.Row(cells({FormatBytes(row.bytes),
                     Percent(static_cast<double>(row.bytes), static_cast<double>(whole))},
                    FormatCount(row.blocks),
                    {FormatBytes(row.saving.saves_bytes), FormatBytes(row.saving.without.bytes),
                     InstantLabel(session, row.saving.without.event)},
                    row.label));
  }
  return table.Text(kWidth) + MoreLine(shown, rows.size());
}

void AddInstant(const Session& session, const analysis::NewPeak& peak, Json* json) {
  const bool known = peak.event.valid();
  (*json)["time_ns"] = known ? session.events().time(peak.event.value) : 0;
  (*json)["step"] = known ? session.StepOf(peak.event) : -1;
}

Json SavingJson(const Session& session, const analysis::PeakSaving& saving) {
  Json json = {{"peak_bytes", saving.without.bytes}, {"saves_bytes", saving.saves_bytes}};
  AddInstant(session, saving.without, &json);
  return json;
}

std::string InstantLabel(const Session& session, analysis::EventId event) {
  if (!event.valid()) return "-";
  if (session.steps().empty()) return Since(session, session.events().time(event.value));
  const std::int64_t step = session.StepOf(event);
  return step < 0 ? "set-up" : Cat("step ", step);
}

}  // namespace memprof::cli
