// Sizes of cubins, fat binaries and PTX.
#include "libmemprof/src/driver/module_image.h"

#include <elf.h>
#include <string.h>

namespace memprof::recorder {
namespace {

constexpr std::uint32_t kWrapperMagic = 0x466243b1;
constexpr std::uint32_t kFatBinaryMagic = 0xba55ed50;

struct FatBinaryWrapper {
  std::uint32_t magic, version;
  const void* data;
};
struct FatBinaryHeader {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t bytes;  // after the header
};

// PTX begins with its version, or with a comment of its compiler.
bool IsPtx(const char* text) {
  while (*text == ' ' || *text == '\t' || *text == '\r' || *text == '\n') ++text;
  return strncmp(text, "//", 2) == 0 || strncmp(text, "/*", 2) == 0 ||
         strncmp(text, ".version", 8) == 0;
}

}  // namespace

std::uint64_t ImageBytes(const void* image) {
  if (image == nullptr) return 0;
  const char* text = static_cast<const char*>(image);
  if (IsPtx(text)) return strlen(text);
  std::uint32_t magic;
  memcpy(&magic, image, sizeof magic);
  if (magic == kWrapperMagic) {
    FatBinaryWrapper wrapper;
    memcpy(&wrapper, image, sizeof wrapper);
    if (wrapper.data == nullptr) return 0;
    image = wrapper.data;
    memcpy(&magic, image, sizeof magic);
  }
  if (magic == kFatBinaryMagic) {
    FatBinaryHeader header;
    memcpy(&header, image, sizeof header);
    return header.header_bytes + header.bytes;
  }
  if (memcmp(&magic, ELFMAG, SELFMAG) != 0) return 0;
  Elf64_Ehdr header;
  memcpy(&header, image, sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return 0;
  const std::uint64_t sections =
      header.e_shoff + std::uint64_t{header.e_shentsize} * header.e_shnum;
  const std::uint64_t segments =
      header.e_phoff + std::uint64_t{header.e_phentsize} * header.e_phnum;
  return sections > segments ? sections : segments;
}

}  // namespace memprof::recorder
