// Objects of the JSON that several verbs print.
#pragma once

#include "analysis/leaks/holders.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/json.h"

namespace memprof::cli {

Json FrameJson(const analysis::SourceFrame& frame);
Json StackJson(analysis::Symbols& symbols, analysis::StackId stack);
Json AllocationJson(const analysis::Session& session, analysis::AllocationId id);

// As in docs/json.md, "leaks".
Json HoldersJson(const std::vector<analysis::Holder>& holders);
Json RestJson(const analysis::WithoutHolder& rest);

}  // namespace memprof::cli
