// The sources that the logs of a session keep.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "analysis/log/sources.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// What the session's logs keep; of a file that several keep, the first. Read when first asked, from
// `paths`, or if that is empty from where the session was loaded; `more` comes after them. Never
// null. Thread-safe.
std::shared_ptr<const KeptSources> KeptSourcesOf(
    const Session& session, std::span<const std::string> paths = {},
    std::span<const std::shared_ptr<const KeptSources>> more = {});

}  // namespace memprof::analysis
