// Walks the loader's list of libraries.
#include "libmemprof/src/loader/next_symbol.h"

#include <elf.h>
#include <link.h>

#include <cstdint>

#include "libmemprof/src/loader/elf_symbols.h"

extern "C" const char __ehdr_start __attribute__((visibility("hidden")));

namespace memprof::recorder {
namespace {

void* Lookup(ElfW(Addr) bias, const ElfW(Dyn) * dynamic, const char* name,
             std::uint32_t name_hash) {
  ElfSymbols symbols;
  if (!ReadElfSymbols(bias, dynamic, &symbols)) return nullptr;
  const ElfW(Sym)* symbol = FindSymbol(symbols, name, name_hash);
  return symbol != nullptr && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC
             ? reinterpret_cast<void*>(bias + symbol->st_value)
             : nullptr;
}

void* Lookup(const link_map* map, const char* name, std::uint32_t name_hash) {
  return Lookup(map->l_addr, map->l_ld, name, name_hash);
}

// The library whose mapping begins nearest below `address`.
const link_map* LibraryOf(const void* address) {
  const link_map* best = nullptr;
  const auto target = reinterpret_cast<std::uintptr_t>(address);
  for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next) {
    // Two properties of a library that every list entry has: its load bias and its dynamic section.
    const auto start = static_cast<std::uintptr_t>(map->l_addr);
    if (start <= target && (best == nullptr || start >= best->l_addr)) best = map;
  }
  return best;
}

}  // namespace

void* NextDefinition(const char* name, const void* after) {
  const std::uint32_t hash = GnuHash(name);
  const link_map* map = LibraryOf(after == nullptr ? &__ehdr_start : after);
  if (map == nullptr) return nullptr;
  for (map = map->l_next; map != nullptr; map = map->l_next)
    if (void* found = Lookup(map, name, hash)) return found;
  return nullptr;
}

void* FirstDefinition(const char* name) {
  const std::uint32_t hash = GnuHash(name);
  const link_map* ours = LibraryOf(&__ehdr_start);
  for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next) {
    void* found = map == ours ? nullptr : Lookup(map, name, hash);
    if (found != nullptr) return found;
  }
  return nullptr;
}

void* DefinitionIn(std::uintptr_t bias, const void* dynamic, const char* name) {
  return Lookup(bias, static_cast<const ElfW(Dyn)*>(dynamic), name, GnuHash(name));
}

bool Precedes(const void* first, const void* second) {
  const link_map* earlier = LibraryOf(first);
  const link_map* later = LibraryOf(second);
  if (earlier == nullptr || later == nullptr) return false;
  for (const link_map* map = earlier->l_next; map != nullptr; map = map->l_next)
    if (map == later) return true;
  return false;
}

}  // namespace memprof::recorder
