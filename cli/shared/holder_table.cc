// Rows of holders.
#include "cli/shared/holder_table.h"

#include "analysis/base/units.h"
#include "cli/console/lines.h"
#include "cli/console/table.h"
#include "cli/console/text.h"

namespace memprof::cli {

std::string HolderTable(const std::vector<analysis::Holder>& holders,
                        const std::optional<analysis::WithoutHolder>& rest, std::uint64_t whole,
                        std::size_t top) {
  const std::vector<analysis::Holder> rows = analysis::SumUp(holders);
  const std::size_t shown = Shown(rows.size(), top);
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.Header({"bytes", "share", "blocks", "holder"});
  table.WrapLast();  // the end of a holder says as much as its begin
  const auto row = [&](std::uint64_t bytes, std::uint64_t blocks, std::string_view holder) {
    table.Row({analysis::FormatBytes(bytes),
               Percent(static_cast<double>(bytes), static_cast<double>(whole)),
               analysis::FormatCount(blocks), Printable(holder)});
  };
  for (std::size_t i = 0; i < shown; ++i) row(rows[i].bytes, rows[i].blocks, rows[i].path);
  if (rest && rest->blocks > 0) row(rest->bytes, rest->blocks, kNoHolder);
  return table.Text(kWidth) + MoreLine(shown, rows.size());
}

}  // namespace memprof::cli
