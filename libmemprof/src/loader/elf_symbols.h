// A loaded module's own table of symbols, searched by its GNU hash: for what dlsym cannot reach, or
// may not be asked for.
#pragma once

#include <link.h>

#include <cstdint>

namespace memprof::recorder {

struct ElfSymbols {
  ElfW(Addr) bias = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t* hash = nullptr;  // DT_GNU_HASH
};

// False for what has no such tables, or whose tables the loader has not relocated (the vdso).
bool ReadElfSymbols(ElfW(Addr) bias, const ElfW(Dyn) * dynamic, ElfSymbols* symbols);
std::uint32_t GnuHash(const char* name);
// The definition of `name`; null if none. For many modules, `name_hash` is computed once.
const ElfW(Sym) * FindSymbol(const ElfSymbols& symbols, const char* name, std::uint32_t name_hash);
inline const ElfW(Sym) * FindSymbol(const ElfSymbols& symbols, const char* name) {
  return FindSymbol(symbols, name, GnuHash(name));
}

}  // namespace memprof::recorder
