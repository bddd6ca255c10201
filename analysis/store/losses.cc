// Adds what the recorder counted and what a reader misses.
#include "analysis/store/losses.h"

namespace memprof::analysis {

Losses LossesOf(const Session& session) {
  Losses losses;
  bool damaged = false;
  for (const AnomalyCount& anomaly : session.anomalies()) {
    if (anomaly.anomaly == log::Anomaly::kEventsLost) losses.events += anomaly.count;
    damaged |= anomaly.anomaly == log::Anomaly::kChunksCorrupt ||
               anomaly.anomaly == log::Anomaly::kTailCut;
  }
  const std::uint64_t there = session.events().size();
  // Otherwise the two differ for other reasons, such as a list of memory that was there before.
  if (damaged && session.self().events_written > there)
    losses.events += session.self().events_written - there;
  if (losses.events > 0)
    losses.share = static_cast<double>(losses.events) / static_cast<double>(losses.events + there);
  return losses;
}

}  // namespace memprof::analysis
