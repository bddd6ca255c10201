// Leads from a report into the viewer: links to places of a log, as viewer/models/link.h reads
// them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/base/types.h"
#include "analysis/symbols/symbols.h"

namespace memprof::cli {

// "view=leaks&site=history.cc:9&stack=0012abcd": the leak of this call stack. Nothing of it needs
// quotes, whatever the log contains.
std::string LinkToLeak(analysis::Symbols& symbols, analysis::StackId stack);

// "view=fragmentation&device=0&at=event345": a failed request.
std::string LinkToFailure(int device, analysis::EventId event);

// The command that opens the viewer at a link, quoted for a POSIX shell.
std::string ViewerCommand(const std::vector<std::string>& logs, std::string_view link);

// The last line of a report, after an empty one: "Show it: COMMAND".
std::string ShowItLine(const std::vector<std::string>& logs, std::string_view link);

}  // namespace memprof::cli
