// The symbol table of a loaded module, searched by its GNU hash: for symbols that dlsym cannot
// reach, or where dlsym must not be called.
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

// False for a module without such tables, or whose tables the loader has not relocated (the vdso).
bool ReadElfSymbols(ElfW(Addr) bias, const ElfW(Dyn) * dynamic, ElfSymbols* symbols);
std::uint32_t GnuHash(const char* name);
// The definition of `name`; null if there is none. The caller computes `name_hash` once for many
// modules.
const ElfW(Sym) * FindSymbol(const ElfSymbols& symbols, const char* name, std::uint32_t name_hash);
inline const ElfW(Sym) * FindSymbol(const ElfSymbols& symbols, const char* name) {
  return FindSymbol(symbols, name, GnuHash(name));
}

}  // namespace memprof::recorder
