// Source files whose text is kept in the log: which ones, and from where they are read.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "analysis/log/sources.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// What the session's logs keep; of a file that several keep, the first. Read when first asked, from
// `paths`, or if that is empty from where the session was loaded. Never null. Thread-safe.
std::shared_ptr<const KeptSources> KeptSourcesOf(const Session& session,
                                                 std::span<const std::string> paths = {});

// The texts of the user's source files that the session's frames name, as they are on this machine:
// regular files outside of the system's and of installed packages' folders, that were not changed
// after `newest_unix_ns`, within the limits of analysis/log/sources.h; others are left out.
KeptSources SourcesToKeep(const Session& session, Symbols& symbols, std::int64_t newest_unix_ns);

}  // namespace memprof::analysis
