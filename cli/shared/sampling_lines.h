// What a log that is always on left out, for the head of every verb.
#pragma once

#include <string>
#include <string_view>

#include "analysis/store/sampling.h"
#include "analysis/store/session.h"
#include "cli/console/json.h"

namespace memprof::cli {

// What a verb makes of the blocks that were drawn.
enum class Drawn {
  kEstimated,  // sums over all allocations count what was left out
  kLeftOut,    // it is about places, or replays: of whole stretches, and of what lives on
};

// "Always on, segment 3: 412 of 86,400 steps are whole; in the others, …", one or two lines; "" if
// every event is in the log.
std::string SamplingLines(const analysis::Session& session, Drawn drawn);
// The same on standard error, for verbs whose output is data.
void NoteSampling(const analysis::Session& session);

// `json` with the key "sampling", if not every event is in the log; see docs/json.md.
Json WithSampling(const analysis::Session& session, Json json, Drawn drawn = Drawn::kLeftOut);

// For what was counted in a stretch: "Peak 10.2 GiB (counted, in a step that was not kept); its
// make-up is shown at 10.1 GiB"; "" if `bytes` is the most that was counted. `what`: "Peak".
std::string CountedLine(const analysis::Session& session, int device, analysis::Layer layer,
                        std::string_view what, std::uint64_t bytes);

// "1,234", or with what the estimate may be off: "1,234 ± 56".
std::string EstimatedCount(const analysis::Estimate& estimate);
std::string EstimatedBytes(const analysis::Estimate& estimate);

}  // namespace memprof::cli
