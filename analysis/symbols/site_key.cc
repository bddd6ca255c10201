// Keys of sites.
#include "analysis/symbols/site_key.h"

#include "analysis/symbols/libraries.h"

namespace memprof::analysis {

std::string SiteKey(Symbols& symbols, StackId stack) {
  if (!stack.valid()) return "";
  const Library library = symbols.LibraryOf(stack);
  std::string key;
  if (AllocatesForUser(library.role)) key = library.name;
  return key + '\n' + KeyOf(symbols.SiteOf(stack));
}

}  // namespace memprof::analysis
