// Finds control characters.
#include "cli/console/controls.h"

#include <cstdio>

namespace memprof::cli {

std::size_t ControlAt(std::string_view text) {
  const auto byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  if (byte(0) < 0x20 || byte(0) == 0x7f) return 1;
  if (byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) < 0xa0) return 2;
  const bool separates = byte(1) == 0x80 && (byte(2) == 0xa8 || byte(2) == 0xa9);
  const bool turns = (byte(1) == 0x80 && (byte(2) == 0x8e || byte(2) == 0x8f ||
                                          (byte(2) >= 0xaa && byte(2) <= 0xae))) ||
                     (byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9);
  return byte(0) == 0xe2 && (separates || turns) ? 3 : 0;
}

std::string EscapeControls(std::string json) {
  // Within JSON these only occur in strings.
  const auto at = [&json](std::size_t i) {
    return static_cast<unsigned char>(json[i]) < 0x7f ? 0
                                                      : ControlAt(std::string_view(json).substr(i));
  };
  std::size_t i = 0;
  while (i < json.size() && at(i) == 0) ++i;
  std::string escaped = json.substr(0, i);
  while (i < json.size()) {
    const std::size_t size = at(i);
    if (size == 0) {
      escaped += json[i++];
      continue;
    }
    const auto byte = [&json, i](std::size_t n) { return static_cast<unsigned char>(json[i + n]); };
    unsigned code = byte(0);
    if (size == 2) code = byte(1);  // U+0080 to U+00BF are 0xc2 and themselves
    if (size == 3) code = (byte(0) & 0x0fu) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu);
    char text[8];
    std::snprintf(text, sizeof text, "\\u%04x", code);
    escaped += text;
    i += size;
  }
  return escaped;
}

}  // namespace memprof::cli
