// Reads architectures of compiled images. The layout of a fat binary is what nvcc's own output
// shows: a header, then entries with kind, header size, size and architecture.
#include "simcuda/driver/fatbin.h"

#include <elf.h>

#include <charconv>
#include <cstdint>
#include <cstring>

namespace memprof::simcuda {
namespace {

constexpr uint32_t kFatBinaryMagic = 0xBA55ED50;
constexpr uint16_t kPtxKind = 1;
constexpr uint16_t kBinaryKind = 2;
constexpr uint64_t kMaxBytes = uint64_t{1} << 32;
constexpr size_t kMaxEntries = 4096;

struct FatHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t bytes;  // of the entries
};

struct FatEntry {
  uint16_t kind;
  uint16_t version;
  uint32_t header_bytes;
  uint64_t bytes;
  uint32_t unused[3];
  uint32_t architecture;
};

template <class Struct>
bool ReadAt(std::string_view data, uint64_t at, Struct* value) {
  if (at > data.size() || data.size() - at < sizeof(*value)) return false;
  std::memcpy(value, data.data() + at, sizeof(*value));
  return true;
}

// The virtual architecture in a note of the cubin; 0: none.
int VirtualArchitecture(std::string_view cubin) {
  constexpr uint32_t kNoteType = 1000;
  Elf64_Ehdr header;
  if (!ReadAt(cubin, 0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!ReadAt(cubin, header.e_shoff + uint64_t{i} * sizeof(section), &section)) return 0;
    if (section.sh_type != SHT_NOTE) continue;
    Elf64_Nhdr note;
    uint16_t words[2];
    if (!ReadAt(cubin, section.sh_offset, &note) || note.n_type != kNoteType ||
        note.n_descsz < sizeof(words)) {
      continue;
    }
    const uint64_t name_bytes = (uint64_t{note.n_namesz} + 3) / 4 * 4;
    if (ReadAt(cubin, section.sh_offset + sizeof(note) + name_bytes, &words)) return words[1];
  }
  return 0;
}

// The architecture in the header of a cubin: its bits in e_flags depend on the version of the ABI.
int BinaryArchitecture(std::string_view cubin) {
  Elf64_Ehdr header;
  if (!ReadAt(cubin, 0, &header)) return 0;
  const bool newer = header.e_ident[EI_ABIVERSION] >= 8;
  return static_cast<int>((newer ? header.e_flags >> 8 : header.e_flags) & 0xff);
}

int PtxTarget(std::string_view text) {
  constexpr std::string_view kWord = ".target";
  constexpr std::string_view kPrefix = "sm_";
  const size_t at = text.find(kWord);
  const size_t name = at == std::string_view::npos ? at : text.find(kPrefix, at);
  if (name == std::string_view::npos || name > at + 64) return 0;
  int number = 0;
  std::from_chars(text.data() + name + kPrefix.size(), text.data() + text.size(), number);
  return number;
}

struct Choice {
  ImageVersions fitting_binary, fitting_ptx, any_binary, any_ptx;
};

void Consider(uint16_t kind, int architecture, int compiled_for, int capability, Choice* choice) {
  const bool older = architecture <= capability;
  if (kind == kBinaryKind) {
    const ImageVersions one = {compiled_for, architecture};
    const bool same_family = architecture / 10 == capability / 10;
    if (architecture > choice->any_binary.binary) choice->any_binary = one;
    if (older && same_family && architecture > choice->fitting_binary.binary) {
      choice->fitting_binary = one;
    }
  } else if (kind == kPtxKind) {
    if (architecture > choice->any_ptx.ptx) choice->any_ptx = {architecture, architecture};
    if (older && architecture > choice->fitting_ptx.ptx) {
      choice->fitting_ptx = {architecture, capability};
    }
  }
}

void ConsiderFatBinary(std::string_view data, int capability, Choice* choice) {
  FatHeader header;
  if (!ReadAt(data, 0, &header)) return;
  uint64_t at = header.header_bytes;
  FatEntry entry;
  for (size_t count = 0; count < kMaxEntries && ReadAt(data, at, &entry); ++count) {
    const auto architecture = static_cast<int>(entry.architecture & 0xffff);
    int compiled_for = 0;
    const uint64_t code = at + entry.header_bytes;
    if (entry.kind == kBinaryKind && code < data.size()) {
      // 0: the code is compressed.
      compiled_for = VirtualArchitecture(data.substr(code, entry.bytes));
    }
    Consider(entry.kind, architecture, compiled_for != 0 ? compiled_for : architecture, capability,
             choice);
    if (entry.header_bytes < sizeof(entry) || entry.bytes > kMaxBytes) return;
    at = code + entry.bytes;
  }
}

}  // namespace

ImageVersions VersionsOf(const void* image, size_t bytes, int capability) {
  Choice choice;
  uint32_t magic = 0;
  const std::string_view start(static_cast<const char*>(image), bytes);
  if (bytes == 0 || bytes >= sizeof(magic)) std::memcpy(&magic, image, sizeof(magic));
  if (magic == kFatBinaryMagic) {
    FatHeader header;
    std::memcpy(&header, image, sizeof(header));
    if (header.bytes <= kMaxBytes) {
      ConsiderFatBinary({start.data(), header.header_bytes + static_cast<size_t>(header.bytes)},
                        capability, &choice);
    }
  } else if (start.starts_with(ELFMAG)) {
    const int architecture = BinaryArchitecture(start);
    const int compiled_for = VirtualArchitecture(start);
    Consider(kBinaryKind, architecture, compiled_for != 0 ? compiled_for : architecture, capability,
             &choice);
  } else {
    Consider(kPtxKind, PtxTarget(start), 0, capability, &choice);
  }
  for (const ImageVersions& one :
       {choice.fitting_binary, choice.fitting_ptx, choice.any_binary, choice.any_ptx}) {
    if (one.ptx != 0) return one;
  }
  return {capability, capability};
}

}  // namespace memprof::simcuda
