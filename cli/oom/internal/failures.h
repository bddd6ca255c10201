// Failed requests, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "analysis/oom/oom.h"
#include "cli/console/json.h"

namespace memprof::cli {

// A table of all failures, the last `top` of them (0 = all).
std::string FailureTable(const analysis::Session& session,
                         const analysis::FailureExplainer& explainer,
                         const std::vector<analysis::FailedRequest>& failures, std::size_t top);

// Everything about one failure, tables with at most `top` rows (0 = all).
std::string FailureText(const analysis::Session& session, analysis::Symbols& symbols,
                        const analysis::SiteGroups& sites, const analysis::FailureReport& report,
                        std::size_t top);

// How close devices came to being full.
std::string HeadroomText(const analysis::Session& session,
                         const std::vector<analysis::Headroom>& rooms);

Json FailedRequestJson(const analysis::Session& session, analysis::Symbols& symbols,
                       const analysis::FailedRequest& request);
Json FailureJson(const analysis::Session& session, analysis::Symbols& symbols,
                 const analysis::SiteGroups& sites, const analysis::FailureReport& report);
Json HeadroomJson(const std::vector<analysis::Headroom>& rooms);

}  // namespace memprof::cli
