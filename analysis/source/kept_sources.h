// Source files whose text is kept in the log: which ones, and from where they are read.
#pragma once

#include <cstdint>

#include "analysis/log/sources.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// The texts of the user's source files that the session's frames name, as they are on this machine:
// regular files outside of the system's and of installed packages' folders, that were not changed
// after `newest_unix_ns`, within the limits of analysis/log/sources.h; others are left out.
KeptSources SourcesToKeep(const Session& session, Symbols& symbols, std::int64_t newest_unix_ns);

}  // namespace memprof::analysis
