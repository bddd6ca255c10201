// The functions and classes around a line of a Python file.
#pragma once

#include <string>
#include <string_view>

namespace memprof::analysis {

// `function`, the name of the function that `line` of `text` lies in, as Python's __qualname__ has
// it: "Block.forward", "main.<locals>.step". Found by indentation; `function` itself where the text
// has no function of that name around the line. Lines count from 1. O(line).
std::string QualifiedName(std::string_view text, int line, std::string_view function);

}  // namespace memprof::analysis
