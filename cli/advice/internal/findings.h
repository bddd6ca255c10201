// Findings of `memprof advise`, as text and as JSON.
#pragma once

#include <string>

#include "analysis/advice/advice.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/json.h"

namespace memprof::cli {

// One finding: what, where, the saving, why, what to change, examples.
std::string FindingText(const analysis::Session& session, analysis::Symbols& symbols,
                        const analysis::Finding& finding, std::size_t number);
// Remedies of the peak that save more together.
std::string CombinationsText(const analysis::AdviceReport& report);
// Patterns that could not be searched for, and evidence that the log lacks.
std::string EvidenceText(const analysis::AdviceReport& report);

Json FindingJson(const analysis::Session& session, analysis::Symbols& symbols,
                 const analysis::Finding& finding);
// `combinations`, `patterns`, `evidence`, `hidden`, `noise_bytes`, `notes`.
void AddAdviceSummary(const analysis::AdviceReport& report, Json* json);

}  // namespace memprof::cli
