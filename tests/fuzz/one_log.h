// The checks that every fuzz input goes through.
#pragma once

#include <string>
#include <string_view>

namespace memprof::fuzz {

// Loads and verifies `bytes` as a log, and queries everything in the session that indexes its
// tables. Aborts when results of the session are inconsistent. Returns whether the log could be
// loaded.
bool ReadOneLog(std::string_view bytes);

}  // namespace memprof::fuzz
