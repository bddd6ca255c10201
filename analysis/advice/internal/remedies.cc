// Remedies of the peak as findings.
#include "analysis/remedies/remedies.h"

#include "analysis/advice/internal/drafts.h"
#include "analysis/categories/categories.h"

namespace memprof::analysis::advice {
namespace {

Pattern PatternOf(RemedyOfPeak kind) {
  return static_cast<Pattern>(static_cast<int>(Pattern::kFusedStep) + static_cast<int>(kind));
}
static_assert(static_cast<int>(Pattern::kFusedStep) + kRemedyOfPeakCount == kPatternCount);

}  // namespace

void FindRemedies(Drafts& drafts) {
  const Session& session = drafts.session();
  Symbols* symbols = drafts.options().symbols;
  if (symbols == nullptr) return;
  const Categories categories(session, symbols);
  PeakRemedies remedies = FindPeakRemedies(session, symbols, categories, drafts.levels());
  for (PeakRemedy& remedy : remedies.remedies) {
    Draft& draft = drafts.At(PatternOf(remedy.kind), remedy.device, Layer::kBlock, remedy.stack);
    Finding& finding = draft.finding;
    if (!finding.fix.empty()) continue;  // that of another process
    for (const AllocationId id : remedy.examples)
      drafts.Count(draft, session.record(id).bytes, {session.record(id).birth, id, {}, ""});
    finding.count = remedy.count;
    finding.bytes = remedy.bytes;
    finding.confidence = remedy.predicts ? Confidence::kPossible : Confidence::kLikely;
    finding.peak_of = PeakLayer::kBlocks;
    finding.new_peak = remedy.saving.without;
    finding.saves_bytes = remedy.saving.saves_bytes;
    finding.reserved = remedy.reserved;
    finding.new_reserved = remedy.new_reserved;
    finding.module = std::move(remedy.subject);
    finding.why = std::move(remedy.seen);
    finding.fix = std::move(remedy.change);
    finding.assumption = std::move(remedy.assumption);
  }
  for (const PeakCombination& combination : remedies.combinations) {
    AdviceCombination& out = drafts.combinations().emplace_back();
    for (const std::size_t row : combination.remedies) {
      out.patterns.push_back(PatternOf(remedies.remedies[row].kind));
      out.device = remedies.remedies[row].device;
    }
    out.saves_bytes = combination.saving.saves_bytes;
    out.new_peak = combination.saving.without;
    out.new_reserved = combination.new_reserved;
  }
}

}  // namespace memprof::analysis::advice
