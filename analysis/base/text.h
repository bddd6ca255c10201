// Small questions about text; ASCII alone, other bytes are left as they are.
#pragma once

#include <string>
#include <string_view>

namespace memprof::analysis {

// With small letters in place of capitals.
std::string Lower(std::string_view text);

inline bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace memprof::analysis
