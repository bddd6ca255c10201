// The hash table of GNU: a filter, a bucket for each hash, and a chain of hashes for each bucket;
// the lowest bit of a hash marks the end of its chain.
#include "cli/attach/internal/elf_symbol.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memprof::cli {
namespace {

Elf_Scn* FindSection(Elf* elf, unsigned type, GElf_Shdr* header) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;)
    if (gelf_getshdr(section, header) != nullptr && header->sh_type == type) return section;
  return nullptr;
}

}  // namespace

bool DefinesSymbol(Elf* elf, std::string_view name) {
  GElf_Shdr hash_header, symbol_header;
  Elf_Scn* hash_section = FindSection(elf, SHT_GNU_HASH, &hash_header);
  Elf_Scn* symbol_section = FindSection(elf, SHT_DYNSYM, &symbol_header);
  if (hash_section == nullptr || symbol_section == nullptr) return false;
  const Elf_Data* table = elf_rawdata(hash_section, nullptr);
  Elf_Data* symbols = elf_getdata(symbol_section, nullptr);
  if (table == nullptr || table->d_buf == nullptr || symbols == nullptr) return false;
  const auto word = [&](std::uint64_t index) {  // 1, an end, behind the table
    std::uint32_t value = 1;
    if ((index + 1) * sizeof value <= table->d_size)
      std::memcpy(&value, static_cast<const char*>(table->d_buf) + index * sizeof value,
                  sizeof value);
    return value;
  };
  const std::uint64_t buckets = word(0), first = word(1), filter_words = word(2);
  if (buckets == 0) return false;
  std::uint32_t hash = 5381;
  for (const char letter : name) hash = hash * 33 + static_cast<unsigned char>(letter);
  const std::uint64_t bucket_at = 4 + 2 * filter_words, chain_at = bucket_at + buckets;
  std::uint64_t index = word(bucket_at + hash % buckets);
  if (index < first) return false;
  for (;; ++index) {
    const std::uint32_t entry = word(chain_at + index - first);
    GElf_Sym symbol;
    if ((entry | 1) == (hash | 1) &&
        gelf_getsym(symbols, static_cast<int>(index), &symbol) != nullptr) {
      const char* found = elf_strptr(elf, symbol_header.sh_link, symbol.st_name);
      if (found != nullptr && name == found) return symbol.st_shndx != SHN_UNDEF;
    }
    if ((entry & 1) != 0) return false;
  }
}

}  // namespace memprof::cli
