// The settings of PyTorch's allocator that the processes of a log had, and what became of them.
#pragma once

#include <string>

#include "analysis/store/session.h"
#include "cli/console/json.h"

namespace memprof::cli {

// "" if no process had any.
std::string SettingsText(const analysis::Session& session);
// An array with one object for the processes that had the same; empty if none had any.
Json SettingsJson(const analysis::Session& session);

}  // namespace memprof::cli
