// Small ELF files: a machine, a loader, versions of symbols.
#pragma once

#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

namespace memprof::cli::testing {

struct ElfSpec {
  int machine = EM_X86_64;
  std::string interpreter;                   // "" = static
  std::vector<std::string> defined, needed;  // "GLIBC_2.17"
  bool weak = false;                         // what is needed is needed by weak symbols
  bool app_image = false;
};

namespace internal {
template <typename T>
void Put(std::string* bytes, const T& value) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Appends `name` to the table, and returns its offset.
inline Elf64_Word AddName(std::string* strings, const std::string& name) {
  const auto offset = static_cast<Elf64_Word>(strings->size());
  *strings += name + '\0';
  return offset;
}

inline std::string Definitions(const std::vector<std::string>& names, std::string* strings) {
  std::string bytes;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Elf64_Verdef entry{};
    entry.vd_version = 1;
    entry.vd_cnt = 1;
    entry.vd_aux = sizeof entry;
    entry.vd_next = i + 1 < names.size() ? sizeof entry + sizeof(Elf64_Verdaux) : 0;
    Put(&bytes, entry);
    Put(&bytes, Elf64_Verdaux{AddName(strings, names[i]), 0});
  }
  return bytes;
}

inline std::string Needs(const ElfSpec& spec, std::string* strings) {
  std::string bytes;
  Elf64_Verneed entry{};
  entry.vn_version = 1;
  entry.vn_cnt = static_cast<Elf64_Half>(spec.needed.size());
  entry.vn_file = AddName(strings, "libc.so.6");
  entry.vn_aux = sizeof entry;
  Put(&bytes, entry);
  for (std::size_t i = 0; i < spec.needed.size(); ++i) {
    Elf64_Vernaux name{};
    name.vna_flags = spec.weak ? VER_FLG_WEAK : 0;
    name.vna_name = AddName(strings, spec.needed[i]);
    name.vna_next = i + 1 < spec.needed.size() ? sizeof name : 0;
    Put(&bytes, name);
  }
  return bytes;
}
}  // namespace internal

inline std::string BuildElf(const ElfSpec& spec) {
  std::string strings(1, '\0'), body;
  const std::string definitions = internal::Definitions(spec.defined, &strings);
  const std::string needs = internal::Needs(spec, &strings);
  constexpr std::size_t kBody = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
  std::vector<Elf64_Shdr> sections(1);
  const auto add = [&](Elf64_Word type, const std::string& content, std::size_t entries) {
    body.resize((body.size() + 7) / 8 * 8);
    Elf64_Shdr section{};
    section.sh_type = type;
    section.sh_offset = kBody + body.size();
    section.sh_size = content.size();
    section.sh_link = 1;
    section.sh_info = static_cast<Elf64_Word>(entries);
    section.sh_addralign = 8;
    sections.push_back(section);
    body += content;
  };
  add(SHT_STRTAB, strings, 0);
  if (!spec.defined.empty()) add(SHT_GNU_verdef, definitions, spec.defined.size());
  if (!spec.needed.empty()) add(SHT_GNU_verneed, needs, 1);
  Elf64_Phdr segment{};
  segment.p_type = spec.interpreter.empty() ? PT_NULL : PT_INTERP;
  segment.p_offset = kBody + body.size();
  segment.p_filesz = spec.interpreter.size() + 1;
  body += spec.interpreter + '\0';
  body.resize((body.size() + 7) / 8 * 8);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  if (spec.app_image) std::memcpy(header.e_ident + EI_ABIVERSION, "AI\2", 3);
  header.e_type = ET_DYN;
  header.e_machine = static_cast<Elf64_Half>(spec.machine);
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof segment;
  header.e_phnum = 1;
  header.e_shoff = kBody + body.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections.size());
  std::string file;
  internal::Put(&file, header);
  internal::Put(&file, segment);
  file += body;
  for (const Elf64_Shdr& section : sections) internal::Put(&file, section);
  return file;
}

}  // namespace memprof::cli::testing
