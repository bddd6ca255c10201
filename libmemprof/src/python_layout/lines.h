// The source line of an instruction, from the tables in code objects.
//
// Formats: CPython's Objects/lnotab_notes.txt (3.8 to 3.10), PEP 626 (3.10), and
// Objects/locations.md (from 3.11 on; PEP 657). Pure functions of bytes; they read only the table,
// and accept any bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/python_layout/layout.h"

namespace memprof::recorder {

// The line of the instruction `offset` bytes after the first one, in a code object whose first line
// is `first_line`; 0 if the table has no line for it, or is too short. A negative offset is that of
// a frame which has not begun: its line is the first.
int LineAt(LineFormat format, const unsigned char* table, std::size_t bytes, int first_line,
           std::int64_t offset);

}  // namespace memprof::recorder
