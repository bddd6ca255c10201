// The figures of a log, as far as it is written.
#pragma once

#include <memory>

#include "analysis/store/session.h"
#include "cli/top/internal/page.h"

namespace memprof::cli {

// `session` is of one log.
TopProcess FiguresOf(const std::shared_ptr<const analysis::Session>& session);

}  // namespace memprof::cli
