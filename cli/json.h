// The objects of memprof's JSON; documented in docs/json.md. Keys are written in the order in
// which they are set.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "analysis/fragmentation/fragmentation.h"
#include "analysis/leaks/leaks.h"
#include "analysis/peak/peak.h"
#include "analysis/report/report.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::cli {

using Json = nlohmann::ordered_json;

// Whole numbers as integers, all else as floating point.
Json Number(double value);
Json FrameJson(const analysis::SourceFrame& frame);
Json StackJson(analysis::Symbols& symbols, analysis::StackId stack);
// All of them; their stacks are cut where there are so many that together they would be gigabytes.
Json LeaksJson(const analysis::Session& session, analysis::Symbols& symbols,
               std::span<const analysis::Leak> leaks);
// `top` = how many sites, tensors and blocks; 0 = all.
Json PeakJson(const analysis::Session& session, analysis::Symbols& symbols,
              const analysis::Peak& peak, std::size_t top);
Json FragmentationJson(const analysis::Session& session, analysis::Symbols& symbols,
                       const analysis::FragmentationReport& report);
Json RunJson(const analysis::Session& session);
Json SourcesOnJson(const analysis::Session& session);
Json SourceStatesJson(const analysis::Session& session);
Json AnomaliesJson(const std::vector<analysis::AnomalyCount>& anomalies);
Json LedgerJson(const analysis::DeviceLedger& ledger);
Json DeviceJson(const analysis::DeviceFigures& device);
Json SelfJson(const analysis::Session& session);

// Prints `json`, indented, with invalid UTF-8 replaced. Returns an exit status.
int PrintJson(const Json& json);

}  // namespace memprof::cli
