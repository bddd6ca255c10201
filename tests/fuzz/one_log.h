// What every fuzz input goes through.
#pragma once

#include <string>
#include <string_view>

namespace memprof::fuzz {

// Loads and verifies `bytes` as a log, and asks the session everything that indexes its tables.
// Aborts when the session contradicts itself. Returns whether the log could be loaded.
bool ReadOneLog(std::string_view bytes);

}  // namespace memprof::fuzz
