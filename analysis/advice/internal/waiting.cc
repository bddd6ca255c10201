// Memory that was freed and waited for other streams.
#include "analysis/fragmentation/waiting.h"

#include "analysis/advice/internal/drafts.h"

namespace memprof::analysis::advice {
namespace {

constexpr double kShare = 0.05;  // of the reserve at that moment

}  // namespace

void FindWaiting(Drafts& drafts) {
  for (const WaitingMemory& one : FindWaitingMemory(drafts.session())) {
    if (one.reserved_bytes == 0 ||
        static_cast<double>(one.most_bytes) <= kShare * static_cast<double>(one.reserved_bytes))
      continue;
    const StackId stack = one.sites.empty() ? StackId() : one.sites.front().stack;
    Draft& draft = drafts.At(Pattern::kWaiting, one.device, Layer::kSegment, stack);
    drafts.Count(draft, one.most_bytes, {one.most, {}, {}, {}});
    draft.finding.saves_bytes = one.most_bytes;
    draft.finding.upper_bound = true;
    draft.reserved = one.reserved_bytes;
    Weaken(draft, Confidence::kPossible);
  }
}

}  // namespace memprof::analysis::advice
