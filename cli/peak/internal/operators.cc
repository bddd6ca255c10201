// Groups of operators at a peak.
#include "cli/peak/internal/operators.h"

#include <algorithm>

#include "analysis/peak/operators.h"
#include "cli/console/json.h"
#include "cli/peak/internal/grouped.h"

namespace memprof::cli {
namespace {

Grouping ByOperator(analysis::Operators& operators) {
  return {.key = [&](analysis::AllocationId,
                     const analysis::AllocationRecord& a) { return operators.Of(a.stack); },
          .name =
              [&](std::uint32_t number) {
                return number == analysis::Operators::kNone ? std::string("(no operator)")
                                                            : operators.name(number);
              },
          .title = "By operator that requested it",
          .column = "operator"};
}

bool Any(const analysis::Session& session, const analysis::Peak& peak,
         analysis::Operators& operators) {
  return std::any_of(peak.blocks.begin(), peak.blocks.end(), [&](analysis::AllocationId id) {
    return operators.Of(session.record(id).stack) != analysis::Operators::kNone;
  });
}

}  // namespace

std::string OperatorText(const analysis::Session& session, analysis::Symbols& symbols,
                         const analysis::Peak& peak, const analysis::PeakSavings* savings,
                         std::size_t top) {
  analysis::Operators operators(session, symbols);
  if (!Any(session, peak, operators)) return "";
  return GroupedText(session, peak, savings, top, ByOperator(operators));
}

Json OperatorsJson(const analysis::Session& session, analysis::Symbols& symbols,
                   const analysis::Peak& peak, const analysis::PeakSavings* savings,
                   std::size_t top) {
  analysis::Operators operators(session, symbols);
  if (!Any(session, peak, operators)) return Json::array();
  return GroupedJson(session, peak, savings, top, ByOperator(operators));
}

}  // namespace memprof::cli
