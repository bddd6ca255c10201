// Walks the buckets and chains of the GNU hash table, as the loader does.
#include "libmemprof/src/loader/elf_symbols.h"

#include <elf.h>

namespace memprof::recorder {
namespace {

// Not strcmp: this may run before a library that interposes strcmp (a sanitizer, say) is
// initialised.
bool SameText(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

}  // namespace

bool ReadElfSymbols(ElfW(Addr) bias, const ElfW(Dyn) * dynamic, ElfSymbols* symbols) {
  *symbols = {};
  symbols->bias = bias;
  for (const ElfW(Dyn)* entry = dynamic; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_un.d_ptr < bias) continue;
    if (entry->d_tag == DT_SYMTAB)
      symbols->symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB)
      symbols->names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_GNU_HASH)
      symbols->hash = reinterpret_cast<const std::uint32_t*>(entry->d_un.d_ptr);
  }
  return symbols->symbols != nullptr && symbols->names != nullptr && symbols->hash != nullptr;
}

std::uint32_t GnuHash(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

const ElfW(Sym) * FindSymbol(const ElfSymbols& symbols, const char* name, std::uint32_t name_hash) {
  const std::uint32_t bucket_count = symbols.hash[0];
  const std::uint32_t first_symbol = symbols.hash[1];
  const std::uint32_t filter_words = symbols.hash[2];
  const std::uint32_t* buckets = symbols.hash + 4 + filter_words * (sizeof(ElfW(Addr)) / 4);
  const std::uint32_t* chains = buckets + bucket_count;
  if (bucket_count == 0) return nullptr;
  std::uint32_t index = buckets[name_hash % bucket_count];
  if (index < first_symbol) return nullptr;
  for (;; ++index) {
    const std::uint32_t chain = chains[index - first_symbol];
    const ElfW(Sym)& symbol = symbols.symbols[index];
    if ((chain | 1) == (name_hash | 1) && symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
        SameText(symbols.names + symbol.st_name, name))
      return &symbol;
    if ((chain & 1) != 0) return nullptr;
  }
}

}  // namespace memprof::recorder
