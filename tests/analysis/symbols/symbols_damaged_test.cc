// Binaries that are missing, changed, stripped or not binaries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "analysis/symbols/symbols.h"
#include "analysis/symbols/symbols_module.h"
#include "tests/analysis/symbols/symbols_fixture.h"
#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using ::testing::EndsWith;
using testing::Loaded;
using testing::SymbolsTest;
using testing::TempDirectory;

TEST_F(SymbolsTest, MissingBinary) {
  Loaded gone = library_;
  gone.path = "/nowhere/libgone.so";
  const auto session = SessionWith(gone);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const auto frames = symbols.ResolveStack(session->allocations()[0].stack);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_FALSE(frames[0].symbolised);
  EXPECT_THAT(frames[0].function, ::testing::StartsWith("libgone.so+0x"));
  EXPECT_EQ(symbols.unsymbolised(), 3u);
}

TEST_F(SymbolsTest, ChangedBinaryIsNotBelieved) {
  Loaded changed = library_;
  changed.build_id.back() = static_cast<char>(changed.build_id.back() ^ 1);
  const auto session = SessionWith(changed);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  EXPECT_FALSE(symbols.Site(session->allocations()[0].stack).symbolised);
  EXPECT_EQ(symbols.unsymbolised(), 3u);
  const ModuleSymbols module(session->modules()[0]);
  EXPECT_EQ(module.state(), ModuleSymbols::State::kChanged);
}

TEST_F(SymbolsTest, ModuleWithoutBuildIdIsTakenAsItIs) {
  Loaded plain = library_;
  plain.build_id.clear();
  const auto session = SessionWith(plain);
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(Symbols(session).Site(session->allocations()[0].stack).symbolised);
}

TEST_F(SymbolsTest, SymbolTableAloneNamesFunctions) {
  const auto session = SessionWithCopy("--strip-debug");
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const auto frames = symbols.ResolveStack(session->allocations()[0].stack);
  ASSERT_EQ(frames.size(), 3u);  // no information about inlining
  EXPECT_EQ(frames[2].function, "guest::Outer");
  EXPECT_THAT(frames[1].function, EndsWith("Holder::Middle"));
  EXPECT_EQ(frames[2].line, 0);
  EXPECT_EQ(frames[2].file, "");
}

TEST_F(SymbolsTest, FilesThatAreNoBinaries) {
  const TempDirectory directory;
  for (const std::string& path : {directory.Write("text.so", "not an ELF file"), directory.File(""),
                                  directory.Write("cut.so", std::string("\x7f"
                                                                        "ELF\x02\x01\x01",
                                                                        7) +
                                                                std::string(60, '\xee'))}) {
    const auto session = SessionWith({.path = path, .first = 1, .end = 2});
    ASSERT_NE(session, nullptr);
    Symbols symbols(session);
    EXPECT_FALSE(symbols.Site(session->allocations()[0].stack).symbolised) << path;
  }
}

TEST_F(SymbolsTest, StrippedOfEverythingNamesOnlyWhatItExports) {
  const auto session = SessionWithCopy("--strip-all");
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const auto frames = symbols.ResolveStack(session->allocations()[0].stack);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[2].function, "guest::Outer");  // from the dynamic symbols
  EXPECT_TRUE(frames[2].symbolised);
  for (const int local : {0, 1}) {
    EXPECT_FALSE(frames[local].symbolised);
    // The offset in the file, not the name of an exported neighbour.
    EXPECT_THAT(frames[local].function, ::testing::StartsWith("libsymbols_guest.so+0x"));
    EXPECT_EQ(frames[local].module, "libsymbols_guest.so");
  }
  EXPECT_EQ(symbols.unsymbolised(), 2u);
}

}  // namespace
}  // namespace memprof::analysis
