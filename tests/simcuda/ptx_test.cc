// What the stand-in reads of PTX.
#include "simcuda/driver/ptx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

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

}  // namespace
}  // namespace memprof::simcuda
