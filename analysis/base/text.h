// Small text functions for ASCII; other bytes are left as they are.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace memprof::analysis {

// With small letters in place of capitals.
std::string Lower(std::string_view text);

// The part after the last slash. A view of `path`.
inline std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

inline bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

inline bool ContainsAny(std::string_view text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts)
    if (Contains(text, part)) return true;
  return false;
}

}  // namespace memprof::analysis
