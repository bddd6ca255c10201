// Reads ELF files by libelf.
#include "cli/run/elf_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kGlibc = "GLIBC_";
constexpr int kMaxEntries = 4096;  // of a table of versions, against damaged files

// "GLIBC_2.9" sorts before "GLIBC_2.34"; versions without numbers, as GLIBC_PRIVATE, are empty.
std::vector<int> Numbers(const std::string& version) {
  std::vector<int> numbers;
  for (const absl::string_view part : absl::StrSplit(absl::StripPrefix(version, kGlibc), '.')) {
    int number = 0;
    if (!absl::SimpleAtoi(part, &number)) return {};
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

// Without waiting: the path may be a pipe.
ElfFile::ElfFile(const std::string& path)
    : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  elf_version(EV_CURRENT);
  if (fd_ >= 0) elf_ = elf_begin(fd_, ELF_C_READ, nullptr);
  valid_ = elf_ != nullptr && gelf_getehdr(elf_, &header_) != nullptr;
}

ElfFile::~ElfFile() {
  if (elf_ != nullptr) elf_end(elf_);
  if (fd_ >= 0) close(fd_);
}

bool ElfFile::SameMachine(const ElfFile& other) const {
  return header_.e_machine == other.header_.e_machine &&
         header_.e_ident[EI_CLASS] == other.header_.e_ident[EI_CLASS];
}

std::string ElfFile::Interpreter() const {
  std::size_t count = 0;
  if (elf_getphdrnum(elf_, &count) != 0) return "";
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf_, static_cast<int>(i), &segment) == nullptr) break;
    if (segment.p_type != PT_INTERP || segment.p_filesz > 4096) continue;
    std::string path(segment.p_filesz, '\0');
    if (pread(fd_, path.data(), path.size(), static_cast<off_t>(segment.p_offset)) !=
        static_cast<ssize_t>(path.size()))
      break;
    return path.c_str();
  }
  return "";
}

bool ElfFile::IsAppImage() const {
  const unsigned char* mark = header_.e_ident + EI_ABIVERSION;
  return mark[0] == 'A' && mark[1] == 'I' && (mark[2] == 1 || mark[2] == 2);
}

std::set<std::string> ElfFile::Defined() const {
  std::set<std::string> names;
  ForEachVersion(SHT_GNU_verdef, [&](Elf_Data* data, std::size_t at, std::size_t strings) {
    GElf_Verdef entry;
    GElf_Verdaux name;
    if (gelf_getverdef(data, static_cast<int>(at), &entry) == nullptr) return std::size_t{0};
    if (gelf_getverdaux(data, static_cast<int>(at + entry.vd_aux), &name) != nullptr)
      Insert(strings, name.vda_name, &names);
    return static_cast<std::size_t>(entry.vd_next);
  });
  return names;
}

std::set<std::string> ElfFile::Needed() const {
  std::set<std::string> names;
  ForEachVersion(SHT_GNU_verneed, [&](Elf_Data* data, std::size_t at, std::size_t strings) {
    GElf_Verneed entry;
    if (gelf_getverneed(data, static_cast<int>(at), &entry) == nullptr) return std::size_t{0};
    std::size_t aux = at + entry.vn_aux;
    for (int i = 0; i < std::min<int>(entry.vn_cnt, kMaxEntries); ++i) {
      GElf_Vernaux name;
      if (gelf_getvernaux(data, static_cast<int>(aux), &name) == nullptr) break;
      // The loader goes on without a version that only weak symbols need.
      if ((name.vna_flags & VER_FLG_WEAK) == 0) Insert(strings, name.vna_name, &names);
      if (name.vna_next == 0) break;
      aux += name.vna_next;
    }
    return static_cast<std::size_t>(entry.vn_next);
  });
  return names;
}

Elf_Scn* ElfFile::SectionOf(unsigned type) const {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr && header.sh_type == type) return section;
  }
  return nullptr;
}

void ElfFile::ForEachVersion(
    unsigned type,
    const std::function<std::size_t(Elf_Data*, std::size_t, std::size_t)>& visit) const {
  Elf_Scn* section = SectionOf(type);
  GElf_Shdr header;
  if (section == nullptr || gelf_getshdr(section, &header) == nullptr) return;
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr) return;
  std::size_t at = 0;
  for (int i = 0; i < kMaxEntries; ++i) {
    const std::size_t step = visit(data, at, header.sh_link);
    if (step == 0) return;
    at += step;
  }
}

void ElfFile::Insert(std::size_t strings, std::size_t offset, std::set<std::string>* names) const {
  const char* name = elf_strptr(elf_, strings, offset);
  if (name != nullptr && absl::StartsWith(name, kGlibc)) names->insert(name);
}

std::string HighestVersion(const std::set<std::string>& versions) {
  const auto highest = std::max_element(
      versions.begin(), versions.end(),
      [](const std::string& a, const std::string& b) { return Numbers(a) < Numbers(b); });
  return highest == versions.end() ? "" : std::string(absl::StripPrefix(*highest, kGlibc));
}

std::string ReleaseOfGlibc(const std::string& c_library) {
  constexpr std::size_t kMostRead = 8 << 20;
  constexpr std::string_view kBefore = " release version ";  // "stable release version 2.31."
  std::ifstream file(c_library, std::ios::binary);
  std::string text(kMostRead, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  const std::size_t at = text.find(kBefore);
  if (at != std::string::npos) {
    const std::size_t begin = at + kBefore.size();
    const std::size_t end = text.find_first_not_of("0123456789.", begin);
    const std::string version = text.substr(begin, std::min<std::size_t>(end - begin, 16));
    if (!version.empty()) return std::string(absl::StripSuffix(version, "."));
  }
  return HighestVersion(ElfFile(c_library).Defined());
}

std::set<std::string> MissingVersions(const ElfFile& library, const ElfFile& c_library) {
  const std::set<std::string> needed = library.Needed(), defined = c_library.Defined();
  std::set<std::string> missing;
  std::set_difference(needed.begin(), needed.end(), defined.begin(), defined.end(),
                      std::inserter(missing, missing.end()));
  return missing;
}

// Debian and NixOS have both in one folder, to which the interpreter's path may be a link. RHEL and
// openSUSE for ARM have the loader in lib, its library in lib64.
std::string LibraryOfLoader(const std::string& loader, const ElfFile& like) {
  std::error_code error;
  const fs::path file = fs::canonical(loader, error);
  if (error) return "";
  const char* debian = like.machine() == EM_AARCH64 ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
  for (const fs::path& folder : {file.parent_path(), fs::path(loader).parent_path()}) {
    for (const fs::path& place :
         {fs::path("."), fs::path("../lib64"), fs::path(debian), fs::path("../lib") / debian}) {
      const fs::path library = (folder / place / "libc.so.6").lexically_normal();
      const ElfFile candidate(library.string());
      if (candidate.valid() && candidate.SameMachine(like) && candidate.IsLibrary())
        return library.string();
    }
  }
  return "";
}

}  // namespace memprof::cli
