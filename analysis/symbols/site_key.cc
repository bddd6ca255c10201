// Keys of sites.
#include "analysis/symbols/site_key.h"

#include <cstdint>
#include <cstdio>

#include "analysis/base/text.h"
#include "analysis/symbols/libraries.h"

namespace memprof::analysis {

std::string SiteKey(Symbols& symbols, StackId stack) {
  if (!stack.valid()) return "";
  const Library library = symbols.LibraryOf(stack);
  std::string key;
  if (AllocatesForUser(library.role)) key = library.name;
  return key + '\n' + KeyOf(symbols.SiteOf(stack));
}

std::string StackHashText(Symbols& symbols, StackId stack) {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  const auto add = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    hash = (hash ^ 0xffu) * 16777619u;
  };
  for (const SourceFrame& frame : symbols.ResolveStack(stack)) {
    add(frame.function);
    add(BaseName(frame.file));
    add(std::to_string(frame.line));
  }
  char text[9];
  std::snprintf(text, sizeof text, "%08x", hash);
  return text;
}

}  // namespace memprof::analysis
