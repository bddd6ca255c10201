// Reads the call-frame tables (.eh_frame_hdr, .eh_frame) of loaded modules.
//
// Formats: Linux Standard Base 5.0, "Exception Frames"; DWARF 5, section 6.4. The tables are part
// of the program's own image and are trusted as C++ exceptions trust them; but no read leaves the
// module's mapped range, and every loop ends.
//
// Thread-safe: pure functions of memory that does not change while the module is loaded.
#pragma once

#include <cstdint>

#include "libmemprof/src/stacks/frame_rule.h"

namespace memprof::recorder {

struct CallFrameTable {
  const unsigned char* header = nullptr;  // .eh_frame_hdr, as mapped
  const unsigned char* begin = nullptr;   // the module's mapped range: nothing outside is read
  const unsigned char* end = nullptr;
};

// The rule at `address`, an address within the instruction of interest. kUnsupported when the table
// does not cover it, or FrameRule cannot express it.
FrameRule ReadFrameRule(const CallFrameTable& table, std::uint64_t address);

}  // namespace memprof::recorder
