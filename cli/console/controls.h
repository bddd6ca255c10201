// Characters with an effect where text is printed, or read line by line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace memprof::cli {

// The bytes of the character at the front of `text`, if it is one of these: control characters,
// Unicode's line separators, and changes of the direction of writing. Else 0.
std::size_t ControlAt(std::string_view text);

// Writes those that JSON may contain as "\u0085" and the like: many readers take some of them for
// the end of a line.
std::string EscapeControls(std::string json);

}  // namespace memprof::cli
