// The verdict of a report in words.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/leaks/internal/words.h"
#include "analysis/leaks/leaks.h"

namespace memprof::analysis {

// Where a scan of host memory says so; else "".
std::string DefiniteWords(const LeakReport& report);

// What the growing sites are, or that there are none.
std::string GrowthWords(const LeakReport& report, const std::string& total);

// Makes a definite leak of `leak`: what was lost of it, by scans of so much host memory.
void CallDefinite(const Unreachable& lost, std::uint64_t scanned_bytes, Leak* leak);

}  // namespace memprof::analysis
