// The figures of a log, as far as it is written.
#pragma once

#include <memory>

#include "analysis/store/session.h"
#include "cli/live/process.h"

namespace memprof::cli {

// `session` is of one log.
LiveProcess FiguresOf(const std::shared_ptr<const analysis::Session>& session);

}  // namespace memprof::cli
