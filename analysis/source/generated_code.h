// What the code of torch.compile was made of, read from TorchInductor's cache of compiled graphs.
#pragma once

#include "analysis/log/sources.h"
#include "analysis/pickle/pickle.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// The lines (analysis/symbols/generated_lines.h) of each generated file that the session's frames
// name and that the cache beside the file has: FOLDER/fxgraph/…, pickles of CompiledFxGraph with
// its cache_key, the generated file's name, and cache_linemap, [(line, stack as text or None)]
// (torch._inductor.output_code of PyTorch 2.4 to 2.15). Nothing in the pickles is executed. Of
// many, the newest are read, 256 MiB at most. Functions get the names of their classes where the
// user's file is as the pickle says.
KeptSources LinesOfGeneratedCode(const Session& session);

// The text of a pickled graph's lines; empty if it has none, or is the graph of another file than
// `key`.
std::string LinesTextOf(const Pickle& graph, std::string_view key);

}  // namespace memprof::analysis
