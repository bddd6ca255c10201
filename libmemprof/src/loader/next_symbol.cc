// Walks the loader's list of libraries and their GNU hash tables.
#include "libmemprof/src/loader/next_symbol.h"

#include <elf.h>
#include <link.h>

#include <cstdint>

extern "C" const char __ehdr_start __attribute__((visibility("hidden")));

namespace memprof::recorder {
namespace {

// Not strcmp: this may run before whoever interposes that (a sanitizer, say) is ready.
bool SameText(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t* hash = nullptr;  // DT_GNU_HASH
};

Tables ReadTables(ElfW(Addr) bias, const ElfW(Dyn) * dynamic) {
  Tables tables;
  for (const ElfW(Dyn)* entry = dynamic; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    // The loader has relocated these, except in the vdso, which defines nothing of interest.
    if (entry->d_un.d_ptr < bias) continue;
    if (entry->d_tag == DT_SYMTAB)
      tables.symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) tables.names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_GNU_HASH)
      tables.hash = reinterpret_cast<const std::uint32_t*>(entry->d_un.d_ptr);
  }
  return tables;
}

std::uint32_t GnuHash(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

void* Lookup(ElfW(Addr) bias, const ElfW(Dyn) * dynamic, const char* name,
             std::uint32_t name_hash) {
  const Tables tables = ReadTables(bias, dynamic);
  if (tables.symbols == nullptr || tables.names == nullptr || tables.hash == nullptr)
    return nullptr;
  const std::uint32_t bucket_count = tables.hash[0];
  const std::uint32_t first_symbol = tables.hash[1];
  const std::uint32_t filter_words = tables.hash[2];
  const std::uint32_t* buckets = tables.hash + 4 + filter_words * (sizeof(ElfW(Addr)) / 4);
  const std::uint32_t* chains = buckets + bucket_count;
  if (bucket_count == 0) return nullptr;
  std::uint32_t index = buckets[name_hash % bucket_count];
  if (index < first_symbol) return nullptr;
  for (;; ++index) {
    const std::uint32_t chain = chains[index - first_symbol];
    const ElfW(Sym)& symbol = tables.symbols[index];
    if ((chain | 1) == (name_hash | 1) && symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
        ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && SameText(tables.names + symbol.st_name, name))
      return reinterpret_cast<void*>(bias + symbol.st_value);
    if ((chain & 1) != 0) return nullptr;
  }
}

void* Lookup(const link_map* map, const char* name, std::uint32_t name_hash) {
  return Lookup(map->l_addr, map->l_ld, name, name_hash);
}

// The library whose mapping begins nearest below `address`.
const link_map* LibraryOf(const void* address) {
  const link_map* best = nullptr;
  const auto target = reinterpret_cast<std::uintptr_t>(address);
  for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next) {
    // Two marks of a library that any list entry has: its load bias and its dynamic section.
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
