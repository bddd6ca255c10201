// Adds what the recorder counted and what a reader misses.
#include "analysis/store/losses.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "analysis/base/units.h"

namespace memprof::analysis {

Losses LossesOf(const Session& session) {
  Losses losses;
  bool damaged = false;
  for (const AnomalyCount& anomaly : session.anomalies()) {
    if (anomaly.anomaly == log::Anomaly::kEventsLost) losses.events += anomaly.count;
    damaged |= anomaly.anomaly == log::Anomaly::kChunksCorrupt ||
               anomaly.anomaly == log::Anomaly::kTailCut;
  }
  // The counters of a segment are those of its process since it began.
  const SelfAccounting& self = session.self();
  const bool segment = std::any_of(
      session.processes().begin(), session.processes().end(),
      [](const ProcessInfo& process) { return process.run.always_on.budget_bytes > 0; });
  const std::uint64_t there = session.events().size();
  // Otherwise the two differ for other reasons, such as a list of memory that was there before.
  if (damaged && !segment && self.events_written > there)
    losses.events += self.events_written - there;
  losses.all = losses.events + (segment ? std::max(there, self.events) : there);
  return losses;
}

std::string LossWords(const Losses& losses) {
  if (losses.events == 0) return "";
  return absl::StrCat(FormatCount(losses.events), " of its ", FormatCount(losses.all),
                      " events are lost");
}

}  // namespace memprof::analysis
