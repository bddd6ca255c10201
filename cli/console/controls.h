// Characters that do something where they are printed, or read line by line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace memprof::cli {

// Bytes of the character at the front of `text` if it is such a one: control characters, Unicode's
// own ends of lines, turns of the direction of writing. Else 0.
std::size_t ControlAt(std::string_view text);

// JSON with those of them that it may hold as they are written as "\u0085": many readers take some
// for the end of a line.
std::string EscapeControls(std::string json);

}  // namespace memprof::cli
