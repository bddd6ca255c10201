// What the loader would find in an ELF file: machine, interpreter, versions of symbols.
#pragma once

#include <gelf.h>

#include <functional>
#include <set>
#include <string>

namespace memprof::cli {

// Reads the file when asked. A file that is no ELF file, or is damaged, is not valid(), or has none
// of what is asked for.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  bool valid() const { return valid_; }
  int machine() const { return header_.e_machine; }  // an EM_…
  bool SameMachine(const ElfFile& other) const;
  // The loader that the program names; "" for a static program.
  std::string Interpreter() const;
  // Whether it defines versions of symbols, as libraries and loaders of glibc do.
  bool IsLibrary() const { return SectionOf(SHT_GNU_verdef) != nullptr; }
  // A program with a file system behind it, of which it starts another program.
  bool IsAppImage() const;
  // Versions of the C library ("GLIBC_2.34") that this library defines, or cannot do without.
  std::set<std::string> Defined() const;
  std::set<std::string> Needed() const;

 private:
  Elf_Scn* SectionOf(unsigned type) const;
  // `visit` gets data, offset and string table of an entry, and returns the distance to the next
  // one; 0 = none.
  void ForEachVersion(
      unsigned type,
      const std::function<std::size_t(Elf_Data*, std::size_t, std::size_t)>& visit) const;
  void Insert(std::size_t strings, std::size_t offset, std::set<std::string>* names) const;

  int fd_;
  Elf* elf_ = nullptr;
  bool valid_ = false;
  GElf_Ehdr header_{};
};

// The highest of the versions, without "GLIBC_"; "" if there is none.
std::string HighestVersion(const std::set<std::string>& versions);

// The release of the glibc in the file `c_library` ("2.31"): what it says of itself, else the
// highest version that it defines, because not every release brings symbols to libc.so.6.
std::string ReleaseOfGlibc(const std::string& c_library);

// The versions that `library` needs and `c_library` does not define.
std::set<std::string> MissingVersions(const ElfFile& library, const ElfFile& c_library);

// The C library that `loader`, an interpreter's path, loads into programs for the machine of
// `like`; "" if it is not found.
std::string LibraryOfLoader(const std::string& loader, const ElfFile& like);

}  // namespace memprof::cli
