// Sizes of device code, read from its headers.
#include "libmemprof/src/driver/module_image.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/read_file.h"

namespace memprof::recorder {
namespace {

TEST(ModuleImage, AnElfFileEndsWithItsTables) {
  const std::string bytes = testing::ReadFile("/proc/self/exe");
  // Linkers write the section headers at the end.
  EXPECT_EQ(ImageBytes(bytes.data()), bytes.size());
}

TEST(ModuleImage, SegmentsCountWhereThereAreNoSections) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_phoff = 64;
  header.e_phentsize = 56;
  header.e_phnum = 3;
  EXPECT_EQ(ImageBytes(&header), 64u + 3 * 56);
  header.e_ident[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(ImageBytes(&header), 0u);
}

TEST(ModuleImage, AFatBinaryAndItsWrapper) {
  struct {
    std::uint32_t magic = 0xba55ed50;
    std::uint16_t version = 1, header_bytes = 16;
    std::uint64_t bytes = 1000;
  } fat;
  struct {
    std::uint32_t magic = 0x466243b1, version = 1;
    const void* data = nullptr;
  } wrapper;
  EXPECT_EQ(ImageBytes(&fat), 1016u);
  EXPECT_EQ(ImageBytes(&wrapper), 0u);
  wrapper.data = &fat;
  EXPECT_EQ(ImageBytes(&wrapper), 1016u);
}

TEST(ModuleImage, PtxIsAText) {
  for (const std::string text : {"//\n.version 8.0\n.target sm_80\n", " \n\t.version 8.0\n",
                                 "/* by hand */ .version 8.0", "//", ".version"})
    EXPECT_EQ(ImageBytes(text.c_str()), text.size()) << text;
}

TEST(ModuleImage, OtherKindsAreNotMeasured) {
  EXPECT_EQ(ImageBytes(nullptr), 0u);
  for (std::string text : {"", "/", ".vers", "BC\xc0\xde of another compiler", "   "}) {
    text.resize(64);  // the driver accepts only images with a header
    EXPECT_EQ(ImageBytes(text.c_str()), 0u) << text;
  }
}

}  // namespace
}  // namespace memprof::recorder
