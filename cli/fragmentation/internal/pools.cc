// What each pool holds, and where it was made.
#include "cli/fragmentation/internal/pools.h"

#include <vector>

#include "analysis/base/units.h"
#include "analysis/store/private_pools.h"
#include "cli/console/lines.h"
#include "cli/console/table.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/fragmentation/internal/largest.h"
#include "cli/shared/names.h"
#include "cli/shared/object_json.h"

namespace memprof::cli {
namespace {

using analysis::FormatBytes;
using analysis::PoolUse;

std::vector<const PoolUse*> Listed(const std::vector<PoolUse>& uses) {
  return Largest(uses, [](const PoolUse& use) { return use.peak_reserved_bytes; });
}

std::string Made(const analysis::Session& session, analysis::Symbols& symbols, const PoolUse& use) {
  return use.made.valid() ? SiteLabel(symbols, session.events().stack(use.made.value)) : "";
}

// For the private pool with most unused memory.
std::string WorstLine(const analysis::Session& session, analysis::Symbols& symbols,
                      const std::vector<PoolUse>& uses) {
  const PoolUse* worst = nullptr;
  for (const PoolUse& use : uses)
    if (use.pool != 0 && (worst == nullptr || use.unused_bytes() > worst->unused_bytes()))
      worst = &use;
  if (worst == nullptr || worst->unused_bytes() == 0) return "";
  return Paragraph(Cat("The pool made at ", Made(session, symbols, *worst), " holds ",
                       FormatBytes(worst->unused_bytes()), " unused that nothing else may use."));
}

}  // namespace

std::string PoolUsesText(const analysis::Session& session, analysis::Symbols& symbols,
                         const analysis::FragmentationReport& report) {
  const std::vector<PoolUse> uses = PoolUses(session, report);
  if (uses.empty()) return "";
  Table table(
      {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.Header({"pool", "reserved", "allocated", "unused", "at most", "made"});
  const auto listed = Listed(uses);
  for (const PoolUse* use : listed)
    table.Row({Cat("device ", use->device, " ",
                   use->pool == 0 ? "all others" : analysis::PrivatePoolName(use->pool)),
               FormatBytes(use->reserved_bytes), FormatBytes(use->allocated_bytes),
               FormatBytes(use->unused_bytes()), FormatBytes(use->peak_reserved_bytes),
               Made(session, symbols, *use)});
  return Cat("\n  Pools (a private one serves only its CUDA graphs, or what chose it):\n",
             table.Text(kWidth), MoreLine(listed.size(), uses.size()),
             WorstLine(session, symbols, uses));
}

Json PoolUsesJson(const analysis::Session& session, analysis::Symbols& symbols,
                  const analysis::FragmentationReport& report) {
  const std::vector<PoolUse> uses = PoolUses(session, report);
  Json pools = Json::array();
  for (const PoolUse* use : Listed(uses)) {
    Json pool = {{"device", use->device},
                 {"private_pool", Hex(use->pool)},
                 {"reserved_bytes", use->reserved_bytes},
                 {"allocated_bytes", use->allocated_bytes},
                 {"peak_reserved_bytes", use->peak_reserved_bytes},
                 {"peak_allocated_bytes", use->peak_allocated_bytes}};
    if (use->made.valid()) {
      pool["name"] = analysis::PrivatePoolName(use->pool);
      pool["made_at"] = Made(session, symbols, *use);
      pool["made_stack"] = StackJson(symbols, session.events().stack(use->made.value));
    }
    pools.push_back(std::move(pool));
  }
  return pools;
}

}  // namespace memprof::cli
