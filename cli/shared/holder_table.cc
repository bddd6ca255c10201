// Rows of holders.
#include "cli/shared/holder_table.h"

#include "analysis/base/units.h"
#include "cli/console/lines.h"
#include "cli/console/table.h"
#include "cli/console/text.h"

namespace memprof::cli {

std::string HolderTable(const std::vector<analysis::Holder>& holders, std::uint64_t whole,
                        std::size_t top) {
  const std::vector<analysis::Holder> rows = analysis::SumUp(holders);
  const std::size_t shown = Shown(rows.size(), top);
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.Header({"bytes", "share", "blocks", "holder"});
  for (std::size_t i = 0; i < shown; ++i)
    table.Row({analysis::FormatBytes(rows[i].bytes),
               Percent(static_cast<double>(rows[i].bytes), static_cast<double>(whole)),
               analysis::FormatCount(rows[i].blocks), Printable(rows[i].path)});
  return table.Text(kWidth) + MoreLine(shown, rows.size());
}

}  // namespace memprof::cli
