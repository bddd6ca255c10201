// Reads /proc and ELF files; any of them may be damaged or vanish meanwhile.
#include "holders/remote/process.h"

#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace memprof::holders {
namespace {

// As the process sees it (a container); as it is seen here (a chroot of here); what is mapped,
// which may be deleted, but is for root only.
int Open(pid_t pid, const std::vector<Mapping>& mappings, const std::string& path) {
  std::vector<std::string> places = {absl::StrCat("/proc/", pid, "/root", path), path};
  for (const Mapping& mapping : mappings)
    if (mapping.path == path)
      places.push_back(absl::StrCat("/proc/", pid, "/map_files/", absl::Hex(mapping.begin), "-",
                                    absl::Hex(mapping.end)));
  for (const std::string& place : places)
    if (const int fd = open(place.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); fd >= 0) return fd;
  return -1;
}

// A symbol's value is its address in a file that is loaded at 0: how far is it moved?
bool LoadBias(Elf* elf, const std::vector<Mapping>& mappings, const std::string& path,
              std::uint64_t* bias) {
  std::size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return false;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr) return false;
    if (segment.p_type != PT_LOAD || segment.p_align == 0) continue;
    const std::uint64_t in_page = segment.p_offset % segment.p_align;
    for (const Mapping& mapping : mappings) {
      if (mapping.path != path || mapping.offset != segment.p_offset - in_page) continue;
      *bias = mapping.begin - (segment.p_vaddr - in_page);
      return true;
    }
  }
  return false;
}

void ReadTable(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, std::uint64_t bias,
               const std::vector<std::string>& names, std::map<std::string, std::uint64_t>* found) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const auto count = static_cast<int>(
      std::min<std::uint64_t>(data->d_size / header.sh_entsize, std::uint64_t{1} << 24));
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, i, &symbol) == nullptr) return;
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) continue;
    const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name == nullptr || name[0] == '\0') continue;
    if (std::find(names.begin(), names.end(), name) != names.end())
      found->emplace(name, bias + symbol.st_value);
  }
}

}  // namespace

absl::StatusOr<char> ProcessState(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string text;
  if (!file || !std::getline(file, text))
    return absl::NotFoundError(absl::StrCat("there is no process ", pid));
  const std::size_t end = text.rfind(") ");  // of the name, which may have any characters
  if (end == std::string::npos || end + 2 >= text.size())
    return absl::NotFoundError(absl::StrCat("there is no process ", pid));
  return text[end + 2];
}

absl::StatusOr<std::vector<Mapping>> ReadMappings(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/maps"));
  if (!file) {
    if (errno == EACCES || errno == EPERM)
      return absl::PermissionDeniedError(
          absl::StrCat("process ", pid, " does not let itself be read"));
    return absl::NotFoundError(absl::StrCat("there is no process ", pid));
  }
  std::vector<Mapping> mappings;
  for (std::string line; std::getline(file, line);) {
    Mapping mapping;
    char rights[5] = "";
    int path = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n",
                    &mapping.begin, &mapping.end, rights, &mapping.offset, &path) != 4 ||
        path == 0)
      continue;
    mapping.readable = rights[0] == 'r';
    mapping.executable = rights[2] == 'x';
    mapping.path = line.substr(std::min<std::size_t>(static_cast<std::size_t>(path), line.size()));
    mappings.push_back(std::move(mapping));
  }
  return mappings;
}

const Mapping* Containing(const std::vector<Mapping>& mappings, std::uint64_t address) {
  const auto after = std::upper_bound(
      mappings.begin(), mappings.end(), address,
      [](std::uint64_t value, const Mapping& mapping) { return value < mapping.begin; });
  return after != mappings.begin() && address < std::prev(after)->end ? &*std::prev(after)
                                                                      : nullptr;
}

std::map<std::string, std::uint64_t> FindSymbols(pid_t pid, const std::vector<Mapping>& mappings,
                                                 const std::string& path,
                                                 const std::vector<std::string>& names) {
  std::map<std::string, std::uint64_t> found;
  const int fd = Open(pid, mappings, path);
  if (fd < 0) return found;
  elf_version(EV_CURRENT);
  Elf* elf = elf_begin(fd, ELF_C_READ, nullptr);
  std::uint64_t bias = 0;
  if (elf != nullptr && LoadBias(elf, mappings, path, &bias)) {
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) == nullptr) continue;
      if (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB)
        ReadTable(elf, section, header, bias, names, &found);
    }
  }
  if (elf != nullptr) elf_end(elf);
  close(fd);
  return found;
}

std::uint64_t EndOfCode(pid_t pid, const std::vector<Mapping>& mappings, const Mapping& mapping) {
  const int fd = Open(pid, mappings, mapping.path);
  if (fd < 0) return 0;
  elf_version(EV_CURRENT);
  Elf* elf = elf_begin(fd, ELF_C_READ, nullptr);
  std::uint64_t bias = 0, end = 0;
  std::size_t count = 0;
  if (elf != nullptr && LoadBias(elf, mappings, mapping.path, &bias) &&
      elf_getphdrnum(elf, &count) == 0) {
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Phdr segment;
      if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr) break;
      const std::uint64_t begin = bias + segment.p_vaddr;
      if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && begin >= mapping.begin &&
          begin < mapping.end)
        end = begin + segment.p_memsz;
    }
  }
  if (elf != nullptr) elf_end(elf);
  close(fd);
  return end <= mapping.end ? end : 0;
}

}  // namespace memprof::holders
