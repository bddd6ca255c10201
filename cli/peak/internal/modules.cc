// Groups of modules at a peak.
#include "cli/peak/internal/modules.h"

#include <optional>

#include "analysis/symbols/module_paths.h"
#include "cli/console/json.h"
#include "cli/peak/internal/grouped.h"

namespace memprof::cli {
namespace {

// By the name of the innermost range at the birth.
Grouping ByModule(const analysis::Session& session, const analysis::RangesOfThreads& ranges) {
  constexpr std::uint32_t kNone = analysis::kNoGroup - 1;
  return {.key =
              [&](analysis::AllocationId, const analysis::AllocationRecord& a) {
                const auto row = ranges.At(a.birth);
                return row ? session.ranges()[*row].name.value : kNone;
              },
          .name =
              [&](std::uint32_t name) {
                return name == kNone ? std::string("(no module)")
                                     : std::string(session.string(analysis::StringId(name)));
              },
          .title = "By module that ran when it was made",
          .column = "module"};
}

}  // namespace

std::string ModuleText(const analysis::Session& session, const analysis::Peak& peak,
                       const analysis::PeakSavings* savings, std::size_t top) {
  const analysis::RangesOfThreads ranges(session, analysis::IsModuleRange);
  if (ranges.empty()) return "";
  return GroupedText(session, peak, savings, top, ByModule(session, ranges));
}

Json ModulesJson(const analysis::Session& session, const analysis::Peak& peak,
                 const analysis::PeakSavings* savings, std::size_t top) {
  const analysis::RangesOfThreads ranges(session, analysis::IsModuleRange);
  if (ranges.empty()) return Json::array();
  return GroupedJson(session, peak, savings, top, ByModule(session, ranges));
}

}  // namespace memprof::cli
