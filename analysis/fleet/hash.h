// Hashes that are the same in every process, on every machine and in every release.
#pragma once

#include <string>
#include <string_view>

namespace memprof::analysis {

// FNV-1a of 128 bits, as 32 hexadecimal digits.
std::string StableHash(std::string_view text);

}  // namespace memprof::analysis
