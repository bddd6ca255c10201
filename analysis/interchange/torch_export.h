// Writes a session as a memory snapshot of PyTorch, which pytorch.org/memory_viz and similar tools
// read (docs/interchange.md describes the conversion).
#pragma once

#include <functional>
#include <string_view>

#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

struct TorchExportSummary {
  std::uint64_t actions = 0;   // in all traces
  std::uint64_t left_out = 0;  // driver allocations without an address: arrays, unmapped memory
};

// False if the sink failed. Memory is O(stacks + what is live at the end).
bool ExportTorchSnapshot(const Session& session, Symbols& symbols,
                         const std::function<bool(std::string_view)>& sink,
                         TorchExportSummary* summary);

}  // namespace memprof::analysis
