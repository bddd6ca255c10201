// How the stand-in reads PTX, fat binaries and cubins.
#include "simcuda/driver/ptx.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "simcuda/driver/fatbin.h"

namespace memprof::simcuda {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr char kModule[] = R"(
// A comment with .entry nothing(
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 counter;
.visible .const .align 8 .b8 table[256];
.global .align 4 .f32 weights[4] = {1.0, 2.0, 3.0, 4.0};
/* .entry none */
.visible .entry axpy(
  .param .u64 axpy_param_0,
  .param .f32 axpy_param_1,
  .param .align 8 .b8 axpy_param_2[24]
)
.maxntid 128, 1, 1
{
  .reg .b32 %r<5>;
  .global .u32 not_at_top;
  ld.param.u64 %rd1, [axpy_param_0];
  { ret; }
}
.entry empty() { ret; }
.visible .entry bare { ret; }
)";

TEST(Ptx, FindsKernelsWithTheirParameters) {
  const PtxContents contents = ReadPtx(kModule);
  EXPECT_THAT(contents.kernels,
              ElementsAre(Pair("axpy", ElementsAre(8, 4, 24)), Pair("bare", ElementsAre()),
                          Pair("empty", ElementsAre())));
}

TEST(Ptx, FindsVariables) {
  const PtxContents contents = ReadPtx(kModule);
  EXPECT_THAT(contents.globals,
              ElementsAre(Pair("counter", 4), Pair("table", 256), Pair("weights", 16)));
}

TEST(Ptx, KnowsPtxFromOtherText) {
  EXPECT_TRUE(LooksLikePtx(kModule));
  EXPECT_FALSE(LooksLikePtx("#!/bin/sh"));
}

TEST(Ptx, CutTextIsReadAsFarAsItGoes) {
  const std::string text = kModule;
  for (size_t length = 0; length < text.size(); ++length) {
    const PtxContents contents = ReadPtx(std::string_view(text).substr(0, length));
    EXPECT_LE(contents.kernels.size(), 4u);
  }
}

TEST(Ptx, RandomTokensNeverBreakIt) {
  const char* const tokens[] = {".entry ", "k ", "(",  ")",       "{",    "}",        ".param ",
                                ".u64 ",   "[",  "]",  "999999 ", ".b8 ", ".global ", "/*",
                                "*/",      "//", "\n", ".align ", "8 ",   ",",        ";"};
  std::mt19937 random(5);
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (unsigned length = random() % 60; length > 0; --length) {
      text += tokens[random() % std::size(tokens)];
    }
    EXPECT_LE(ReadPtx(text).kernels.size(), 60u);
  }
}

template <class Value>
void Append(std::string* to, Value value) {
  to->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// The parts of a cubin that are read: a header, and one note with the virtual architecture.
std::string Cubin(int binary, int compiled_for, bool new_abi = true) {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_ABIVERSION] = new_abi ? 8 : 7;
  header.e_flags = static_cast<unsigned>(new_abi ? 0x06000004 | binary << 8 : 0x00500500 | binary);
  header.e_shoff = sizeof(header);
  header.e_shnum = 1;
  Elf64_Shdr section = {};
  section.sh_type = SHT_NOTE;
  section.sh_offset = sizeof(header) + sizeof(section);
  std::string image;
  Append(&image, header);
  Append(&image, section);
  Append(&image, Elf64_Nhdr{12, 8, 1000});
  image += "NVIDIA Corp";
  image += '\0';
  Append(&image, uint16_t{2});
  Append(&image, static_cast<uint16_t>(compiled_for));
  Append(&image, uint32_t{130});
  return image;
}

struct Part {
  int kind;  // 1: PTX, 2: cubin
  int architecture;
  std::string code;
};

std::string FatBinary(const std::vector<Part>& parts) {
  std::string entries;
  for (const Part& part : parts) {
    Append(&entries, static_cast<uint16_t>(part.kind));
    Append(&entries, uint16_t{0x101});
    Append(&entries, uint32_t{64});
    Append(&entries, uint64_t{part.code.size()});
    entries.append(12, '\0');
    Append(&entries, static_cast<uint32_t>(part.architecture));
    entries.append(32, '\0');
    entries += part.code;
  }
  std::string image;
  Append(&image, uint32_t{0xBA55ED50});
  Append(&image, uint16_t{1});
  Append(&image, uint16_t{16});
  Append(&image, uint64_t{entries.size()});
  return image + entries;
}

testing::AssertionResult Runs(const std::string& image, size_t bytes, int capability, int ptx,
                              int binary) {
  const ImageVersions found = VersionsOf(image.data(), bytes, capability);
  if (found.ptx == ptx && found.binary == binary) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "ptx " << found.ptx << ", binary " << found.binary;
}

TEST(Versions, AreThoseOfTheCodeThatTheGpuWouldRun) {
  const std::string image = FatBinary({{2, 80, Cubin(80, 80)},
                                       {2, 86, Cubin(86, 80)},
                                       {2, 90, Cubin(90, 90)},
                                       {1, 75, "compressed"},
                                       {1, 90, "compressed"}});
  EXPECT_TRUE(Runs(image, 0, 90, 90, 90));
  EXPECT_TRUE(Runs(image, 0, 80, 80, 80));
  EXPECT_TRUE(Runs(image, 0, 86, 80, 86)) << "compiled for another virtual architecture";
  EXPECT_TRUE(Runs(image, 0, 89, 80, 86)) << "binaries run on later GPUs of their family";
  EXPECT_TRUE(Runs(image, 0, 100, 90, 100)) << "PTX is compiled for the GPU";
  EXPECT_TRUE(Runs(image, 0, 75, 75, 75));
}

TEST(Versions, AreThoseThatThereAreWhereNothingFits) {
  EXPECT_TRUE(Runs(FatBinary({{2, 80, Cubin(80, 80)}}), 0, 90, 80, 80));
  EXPECT_TRUE(Runs(FatBinary({{2, 100, "compressed"}}), 0, 90, 100, 100));
  EXPECT_TRUE(Runs(FatBinary({{1, 120, "compressed"}}), 0, 90, 120, 120));
}

TEST(Versions, OfCubinsAndPtxAlone) {
  const std::string cubin = Cubin(86, 80);
  EXPECT_TRUE(Runs(cubin, cubin.size(), 86, 80, 86));
  const std::string old = Cubin(75, 75, false);
  EXPECT_TRUE(Runs(old, old.size(), 90, 75, 75));
  const std::string ptx = ".version 8.0\n.target sm_70\n.address_size 64\n";
  EXPECT_TRUE(Runs(ptx, ptx.size(), 90, 70, 90));
}

TEST(Versions, OfWhatCannotBeReadAreTheGpus) {
  for (const std::string& image :
       {std::string("????????"),
        std::string("\x7f"
                    "ELF"),
        FatBinary({}), std::string(".target sm_"), FatBinary({{7, 80, "x"}}),
        FatBinary({{2, 80, Cubin(80, 80)}}).substr(0, 16) + "short"}) {
    const bool fat = image.size() >= 16 && static_cast<unsigned char>(image[0]) == 0x50;
    if (fat && image.size() < 30) continue;  // a fat binary states its size, which must be true
    EXPECT_TRUE(Runs(image, image.size(), 86, 86, 86));
  }
  // Whatever the entries contain, nothing beyond the size is read.
  std::mt19937 random(1);
  const std::string good = FatBinary({{2, 80, Cubin(80, 80)}, {1, 80, "ptx"}});
  for (int round = 0; round < 2000; ++round) {
    std::string bad = good;
    for (int i = 0; i < 4; ++i)
      bad[16 + random() % (bad.size() - 16)] = static_cast<char>(random());
    const std::vector<char> exact(bad.begin(), bad.end());
    VersionsOf(exact.data(), 0, 90);
  }
}

}  // namespace
}  // namespace memprof::simcuda
