// The result as text and as JSON.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "cli/console/json.h"
#include "cli/holders/internal/held.h"

namespace memprof::cli {

// `top` 0 = all rows.
std::string HeldText(const Held& held, std::size_t top);
Json HeldJson(const Held& held, pid_t pid, std::size_t top);

}  // namespace memprof::cli
