// Which source line an instruction belongs to, from the tables in code objects.
//
// Formats: CPython's Objects/lnotab_notes.txt (3.8 to 3.10), PEP 626 (3.10), and
// Objects/locations.md (from 3.11 on; PEP 657). Pure functions of bytes; no read leaves them, and
// any bytes are survived.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/python/internal/layout.h"

namespace memprof::recorder {

// The line of the instruction that lies `offset` bytes behind the first one, in a code object
// whose first line is `first_line`; 0 where the table gives it none or does not reach so far. An
// offset below 0 is that of a frame which has not begun: its line is the first.
int LineAt(LineFormat format, const unsigned char* table, std::size_t bytes, int first_line,
           std::int64_t offset);

}  // namespace memprof::recorder
