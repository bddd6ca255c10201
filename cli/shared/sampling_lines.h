// What a log that is always on left out, for the head of every verb.
#pragma once

#include <string>

#include "analysis/peak/peak.h"
#include "analysis/store/sampling.h"
#include "analysis/store/sampling_words.h"
#include "analysis/store/session.h"
#include "cli/console/json.h"

namespace memprof::cli {

using analysis::Drawn;

// "Always on, segment 3: 412 of 86,400 steps are whole; in the others, …", one or two lines; "" if
// every event is in the log.
std::string SamplingLines(const analysis::Session& session, Drawn drawn);
// The same on standard error, for verbs whose output is data.
void NoteSampling(const analysis::Session& session);

// `json` with the key "sampling", if not every event is in the log; see docs/json.md.
Json WithSampling(const analysis::Session& session, Json json, Drawn drawn = Drawn::kLeftOut);

// Where more was counted than the log can show, a line each for the driver's memory and for blocks:
// "Peak 10.2 GiB (counted, in a step that was not kept); its make-up is shown at 10.1 GiB, …"
std::string CountedLines(const analysis::Session& session, const analysis::Peak& peak);

// "1,234", or with what the estimate may be off: "1,234 ± 56".
std::string EstimatedCount(const analysis::SampledSum& estimate);
std::string EstimatedBytes(const analysis::SampledSum& estimate);

}  // namespace memprof::cli
