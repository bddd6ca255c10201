// Damage to valid logs.
#pragma once

#include <cstddef>
#include <random>
#include <string>

namespace memprof::fuzz {

// Changes one to four bytes of the `size` at `begin`.
void Scribble(std::mt19937& random, std::string* bytes, std::size_t begin, std::size_t size);

// A rich log in which fields of one to three chunks are damaged, with valid checksums.
std::string MutatedLog(std::mt19937& random);

}  // namespace memprof::fuzz
