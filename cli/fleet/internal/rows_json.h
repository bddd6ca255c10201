// The rows of one log as lines of JSON.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "analysis/fleet/rows.h"

namespace memprof::cli {

// Of the tables in python/memprof/_fleet/schema.py.
inline constexpr int kFleetSchema = 1;

// Calls `write` with one line after the other: a head, the rows, an end with their number. `log` is
// its name; where nothing else names the job, the folder in that name does. False once `write`
// returned false.
bool WriteFleetRows(const analysis::FleetRows& rows, const std::string& log,
                    const std::function<bool(std::string_view)>& write);

}  // namespace memprof::cli
