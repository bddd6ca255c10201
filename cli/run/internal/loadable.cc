// Reads the program, its loader, and the C library beside that.
#include "cli/run/internal/loadable.h"

#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/run/sim.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kVersion = "GLIBC_";
constexpr int kMaxScripts = 4;  // as in the kernel

class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    elf_version(EV_CURRENT);
    if (fd_ >= 0) elf_ = elf_begin(fd_, ELF_C_READ, nullptr);
    valid_ = elf_ != nullptr && gelf_getehdr(elf_, &header_) != nullptr;
  }
  ~ElfFile() {
    if (elf_ != nullptr) elf_end(elf_);
    if (fd_ >= 0) close(fd_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  bool valid() const { return valid_; }
  bool SameMachine(const ElfFile& other) const {
    return header_.e_machine == other.header_.e_machine &&
           header_.e_ident[EI_CLASS] == other.header_.e_ident[EI_CLASS];
  }
  // The loader that the program names; "" for a static program.
  std::string Interpreter() const {
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
  bool IsLibrary() const { return SectionOf(SHT_GNU_verdef) != nullptr; }
  // Versions of the C library that this library defines, or needs.
  std::set<std::string> Defined() const {
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
  std::set<std::string> Needed() const {
    std::set<std::string> names;
    ForEachVersion(SHT_GNU_verneed, [&](Elf_Data* data, std::size_t at, std::size_t strings) {
      GElf_Verneed entry;
      if (gelf_getverneed(data, static_cast<int>(at), &entry) == nullptr) return std::size_t{0};
      std::size_t aux = at + entry.vn_aux;
      for (int i = 0; i < entry.vn_cnt; ++i) {
        GElf_Vernaux name;
        if (gelf_getvernaux(data, static_cast<int>(aux), &name) == nullptr) break;
        Insert(strings, name.vna_name, &names);
        aux += name.vna_next;
      }
      return static_cast<std::size_t>(entry.vn_next);
    });
    return names;
  }

 private:
  Elf_Scn* SectionOf(unsigned type) const {
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) != nullptr && header.sh_type == type) return section;
    }
    return nullptr;
  }
  // `visit` returns the distance to the next entry; 0 = none.
  template <typename Visit>
  void ForEachVersion(unsigned type, Visit visit) const {
    constexpr int kMaxEntries = 4096;
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
  void Insert(std::size_t strings, std::size_t offset, std::set<std::string>* names) const {
    const char* name = elf_strptr(elf_, strings, offset);
    if (name != nullptr && absl::StartsWith(name, kVersion)) names->insert(name);
  }

  int fd_;
  Elf* elf_ = nullptr;
  bool valid_ = false;
  GElf_Ehdr header_{};
};

// "GLIBC_2.9" sorts before "GLIBC_2.34"; versions without numbers, as GLIBC_PRIVATE, are empty.
std::vector<int> Numbers(const std::string& version) {
  std::vector<int> numbers;
  for (const absl::string_view part : absl::StrSplit(absl::StripPrefix(version, kVersion), '.')) {
    int number = 0;
    if (!absl::SimpleAtoi(part, &number)) return {};
    numbers.push_back(number);
  }
  return numbers;
}

std::string Highest(const std::set<std::string>& versions) {
  const auto highest = std::max_element(
      versions.begin(), versions.end(),
      [](const std::string& a, const std::string& b) { return Numbers(a) < Numbers(b); });
  return highest == versions.end() ? "" : std::string(absl::StripPrefix(*highest, kVersion));
}

// The loader ignores preloaded libraries in programs that gain rights at their start.
bool GainsRights(const std::string& path) {
  struct stat status;
  struct statvfs mount;
  if (stat(path.c_str(), &status) != 0) return false;
  if (statvfs(path.c_str(), &mount) == 0 && (mount.f_flag & ST_NOSUID) != 0) return false;
  return ((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid()) ||
         ((status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0 &&
          status.st_gid != getgid()) ||
         (getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0);
}

Loadable CheckProgram(const ElfFile& recorder, const std::string& path) {
  const ElfFile program(path);
  if (!program.valid()) return {};
  const auto runs_unrecorded = [&](absl::string_view why, absl::string_view remedy) {
    return Loadable{
        true, absl::StrCat(path, " ", why, ": it runs, but is not recorded itself; ", remedy)};
  };
  if (!program.SameMachine(recorder))
    return runs_unrecorded("is for another kind of processor than this memprof",
                           "use a memprof that was built for that one");
  const std::string interpreter = program.Interpreter();
  if (interpreter.empty()) {
    // A loader that is started as a program preloads libraries as usual.
    return program.IsLibrary()
               ? Loadable{}
               : runs_unrecorded("is linked statically, so nothing can be preloaded",
                                 "link it dynamically, or name the program that it starts");
  }
  if (GainsRights(path))
    return runs_unrecorded(
        "is set-uid, set-gid or has capabilities, where the loader preloads nothing",
        "run memprof as the user whose rights it takes");
  if (absl::StrContains(fs::path(interpreter).filename().string(), "ld-musl"))
    return {false, absl::StrCat(path,
                                " uses musl, and the recorder needs glibc: it would not start. "
                                "Use a build of it for glibc, in an image such as Debian's")};
  // glibc has both in one folder, whatever links lead there.
  std::error_code error;
  const fs::path loader = fs::canonical(interpreter, error);
  if (error) return {};
  const std::string library = (loader.parent_path() / "libc.so.6").string();
  const ElfFile c_library(library);
  if (!c_library.valid()) return {};
  const std::set<std::string> defined = c_library.Defined();
  if (defined.empty()) return {};
  std::set<std::string> missing;
  for (const std::string& version : recorder.Needed())
    if (defined.count(version) == 0) missing.insert(version);
  if (missing.empty()) return {};
  return {false, absl::StrCat(path, " uses glibc ", Highest(defined), " (", library,
                              "), and the recorder needs ", Highest(missing),
                              ": it would not start. Run it in an image with a newer glibc (Debian "
                              "12, Ubuntu 22.04, RHEL 9), or build memprof where it runs")};
}

// The words of a script's first line; empty if it names no interpreter.
std::vector<std::string> InterpreterLine(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line(256, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  line = line.substr(0, line.find('\n'));
  if (!absl::StartsWith(line, "#!")) return {};
  return absl::StrSplit(line.substr(2), absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
}

// The program that env starts; empty if its options cannot be separated from it.
std::vector<std::string> AfterEnv(const std::vector<std::string>& words) {
  std::size_t at = 1;
  while (at < words.size() && (words[at] == "-S" || words[at] == "-i" || words[at] == "-" ||
                               words[at] == "--" || absl::StrContains(words[at], "=")))
    ++at;
  if (at >= words.size() || absl::StartsWith(words[at], "-")) return {};
  return {words.begin() + static_cast<std::ptrdiff_t>(at), words.end()};
}

}  // namespace

Loadable CheckLoadable(const std::string& recorder, const std::vector<std::string>& arguments,
                       const std::string& search_path) {
  const ElfFile library(recorder);
  std::vector<std::string> words = arguments;
  for (int i = 0; library.valid() && i < 2 * kMaxScripts && !words.empty(); ++i) {
    const std::string path = FindProgram(words[0], search_path);
    if (path.empty()) return {};
    if (const std::vector<std::string> line = InterpreterLine(path); !line.empty()) {
      words = line;
      continue;
    }
    const Loadable loadable = CheckProgram(library, path);
    if (!loadable.line.empty() || fs::path(path).filename() != "env") return loadable;
    words = AfterEnv(words);
  }
  return {};
}

}  // namespace memprof::cli
