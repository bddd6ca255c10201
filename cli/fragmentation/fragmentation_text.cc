// The section on fragmentation.
#include <algorithm>

#include "analysis/base/units.h"
#include "analysis/store/private_pools.h"
#include "cli/console/lines.h"
#include "cli/console/table.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/fragmentation/fragmentation.h"
#include "cli/fragmentation/internal/largest.h"
#include "cli/fragmentation/internal/pools.h"
#include "cli/fragmentation/internal/waiting.h"
#include "cli/shared/names.h"

namespace memprof::cli {
namespace {

using analysis::Allocation;
using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::Session;

// The worst `top` blocks that separate free memory.
std::string PinsText(const Session& session, analysis::Symbols& symbols,
                     const analysis::FragmentationReport& report, std::size_t top) {
  Table pins({Align::kRight, Align::kRight, Align::kLeft, Align::kLeft, Align::kLeft});
  pins.Header({"pins", "with", "born", "unused since", "site"});
  std::vector<analysis::Pin> worst;
  for (const analysis::PoolFragmentation& pool : report.pools) {
    worst.insert(worst.end(), pool.pins.begin(), pool.pins.end());
  }
  std::stable_sort(worst.begin(), worst.end(), [](const analysis::Pin& a, const analysis::Pin& b) {
    return a.frees_bytes > b.frees_bytes;
  });
  for (std::size_t i = 0; i < Shown(worst.size(), top); ++i) {
    const Allocation& block = session.allocation(worst[i].block);
    const analysis::TensorInfo* tensor = session.tensor(worst[i].tensor);
    const std::int64_t since = session.StepAt(worst[i].unused_since);
    pins.Row({FormatBytes(worst[i].frees_bytes), FormatBytes(worst[i].bytes),
              block.birth_step < 0 ? std::string("set-up") : Cat("step ", block.birth_step),
              since < 0 ? Since(session, worst[i].unused_since) : Cat("step ", since),
              Cat(SiteLabel(symbols, block.stack),
                  tensor == nullptr || tensor->name.empty()
                      ? ""
                      : Cat(", ", CutEnd(Printable(tensor->name), 30)),
                  worst[i].empties_segment ? ", alone in its segment" : "")});
  }
  if (pins.empty()) return "";
  return Cat("\n  Blocks that separate free memory (freeing one joins that much):\n",
             pins.Text(kWidth), MoreLine(Shown(worst.size(), top), worst.size()));
}

// "(0, 1)" of a private pool: the table below has the whole name, and its width is short here.
std::string PoolNumbers(std::uint64_t pool) {
  const std::string name = analysis::PrivatePoolName(pool);
  return name.substr(std::min(name.find('('), name.size()));
}

}  // namespace

std::string FragmentationText(const Session& session, analysis::Symbols& symbols,
                              const analysis::FragmentationReport& report, std::size_t top) {
  if (report.pools.empty()) {
    const auto records = session.records();
    const bool blocks = std::any_of(records.begin(), records.end(), [](const auto& record) {
      return record.layer == analysis::Layer::kBlock;
    });
    return blocks ? "  The segments of the framework's allocator are not in this log.\n"
                  : "  No framework allocator was seen in this log: nothing to fragment.\n";
  }
  std::string text =
      Cat("  Peak use is ", Percent(report.utilisation, 1), " of peak reserve; ",
          Percent(report.at_peak, 1), " of what was reserved at ", Since(session, report.time),
          report.step >= 0 ? Cat(" (step ", report.step, ")") : "", " was free.\n");
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight, Align::kRight, Align::kRight});
  table.Header({"pool", "segments", "reserved", "free", "largest hole", "unusable", "releasable",
                "external"});
  const auto listed = Largest(report.pools, [](const auto& pool) { return pool.reserved_bytes; });
  for (const analysis::PoolFragmentation* one : listed) {
    const analysis::PoolFragmentation& pool = *one;
    table.Row({Cat("device ", pool.device,
                   pool.private_pool == 0 ? "" : Cat(" ", PoolNumbers(pool.private_pool)),
                   pool.stream == 0 ? "" : Cat(" stream ", Hex(pool.stream)),
                   pool.small_blocks ? " small" : " large"),
               FormatCount(pool.segments), FormatBytes(pool.reserved_bytes),
               FormatBytes(pool.free_bytes), FormatBytes(pool.largest_hole),
               Percent(static_cast<double>(pool.unusable_bytes),
                       static_cast<double>(pool.reserved_bytes)),
               FormatBytes(pool.releasable_bytes), Percent(pool.external, 1)});
  }
  Append(text, table.Text(kWidth), MoreLine(listed.size(), report.pools.size()));
  return Cat(text, PoolUsesText(session, symbols, report), WaitingText(session, symbols),
             PinsText(session, symbols, report, top));
}

}  // namespace memprof::cli
