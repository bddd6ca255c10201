// A look-up of a symbol as the loader does it: libraries have up to hundreds of thousands of them.
#pragma once

#include <gelf.h>

#include <string_view>

namespace memprof::cli {

// Whether the file, of this processor, defines the symbol for others. False if it is damaged.
bool DefinesSymbol(Elf* elf, std::string_view name);

}  // namespace memprof::cli
