// Functions, files, lines and inlining of a library with known results; and reports about binaries
// that are missing, changed or stripped.
#include "analysis/symbols/symbols.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "analysis/symbols/symbols_module.h"
#include "tests/analysis/symbols/symbols_fixture.h"
#include "tests/analysis/symbols/symbols_guest.h"
#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::Loaded;
using testing::LoadLog;
using testing::LogBuilder;
using testing::ObjectOf;
using testing::SymbolsTest;

void ExpectGuestFrames(const std::vector<SourceFrame>& frames) {
  ASSERT_EQ(frames.size(), 4u);
  EXPECT_THAT(frames[0].function, EndsWith("Innermost"));
  EXPECT_THAT(frames[1].function, EndsWith("Inlined"));
  EXPECT_THAT(frames[2].function, EndsWith("Holder::Middle"));
  EXPECT_EQ(frames[3].function, "guest::Outer");
  EXPECT_EQ(frames[0].line, guest::kLines.innermost);
  EXPECT_EQ(frames[1].line, guest::kLines.inlined);
  EXPECT_EQ(frames[2].line, guest::kLines.middle);
  EXPECT_EQ(frames[3].line, guest::kLines.outer);
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(frames[i].file, EndsWith("tests/analysis/symbols/symbols_guest.cc"));
    EXPECT_THAT(frames[i].module, HasSubstr("symbols_guest"));
    EXPECT_EQ(frames[i].inlined, i == 1);
    EXPECT_TRUE(frames[i].symbolised);
  }
}

TEST_F(SymbolsTest, FunctionsLinesAndInlining) {
  ASSERT_THAT(library_.path, HasSubstr("symbols_guest"));
  ASSERT_FALSE(library_.build_id.empty());
  const auto session = SessionWith(library_);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  ExpectGuestFrames(symbols.ResolveStack(session->allocations()[0].stack));
  EXPECT_EQ(symbols.unsymbolised(), 0u);
  // The second call returns the same object.
  const FrameId frame = session->StackFrame(session->allocations()[0].stack);
  EXPECT_EQ(&symbols.Resolve(frame), &symbols.Resolve(frame));
}

// Clang writes no table of address ranges; GCC does.
TEST_F(SymbolsTest, UnitsAreFoundWithoutATableOfAddressRanges) {
  const auto session = SessionWithCopy("--remove-section=.debug_aranges");
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  ExpectGuestFrames(symbols.ResolveStack(session->allocations()[0].stack));
}

// After many lookups in a module an index is used; results must stay the same.
TEST(ModuleSymbolsTest, ManyLookUpsAnswerAsFewDo) {
  for (const void* address : {reinterpret_cast<const void*>(&std::system),  // many aliases
                              reinterpret_cast<const void*>(&ReadableName)}) {
    const Loaded object = ObjectOf(address);
    const ModuleInfo module{.path = object.path.empty() ? "/proc/self/exe" : object.path,
                            .build_id = "",
                            .load_bias = object.bias,
                            .first_address = object.first,
                            .end_address = object.end};
    ModuleSymbols often(module);
    ASSERT_EQ(often.state(), ModuleSymbols::State::kUsable) << module.path;
    const std::uint64_t stride = (object.end - object.first) / 600 | 1;
    std::unique_ptr<ModuleSymbols> seldom;
    std::size_t named = 0;
    int asked = 0;
    for (std::uint64_t at = object.first; at < object.end; at += stride, ++asked) {
      if (asked % 10 == 0) seldom = std::make_unique<ModuleSymbols>(module);
      const std::vector<SourceFrame> frames = often.At(at), plain = seldom->At(at);
      ASSERT_EQ(frames.size(), plain.size()) << std::hex << at - object.bias;
      for (std::size_t i = 0; i < frames.size(); ++i)
        EXPECT_EQ(frames[i].function, plain[i].function) << std::hex << at - object.bias;
      named += frames.empty() ? 0 : 1;
    }
    EXPECT_GT(named, 100u);
  }
}

TEST_F(SymbolsTest, VariablesHaveNamesAndOffsets) {
  const guest::Variables variables = guest::VariablesHere();
  const ModuleInfo module{.path = library_.path,
                          .build_id = library_.build_id,
                          .load_bias = library_.bias,
                          .first_address = library_.first,
                          .end_address = library_.end};
  ModuleSymbols symbols(module);
  const auto at = [&](const void* variable) {
    return symbols.VariableAt(reinterpret_cast<std::uint64_t>(variable) - library_.bias, false);
  };
  EXPECT_EQ(at(variables.global).name, "guest::g_numbers");
  EXPECT_EQ(at(variables.global).offset, 12u);
  EXPECT_EQ(at(variables.local).name, "guest::(anonymous namespace)::Counter()::counters");
  EXPECT_EQ(at(variables.local).offset, 8u);
  EXPECT_EQ(at(reinterpret_cast<const void*>(library_.first)).name, "") << "the file's head";
  EXPECT_EQ(symbols.VariableAt(8, true).name, "guest::(anonymous namespace)::t_numbers");
  EXPECT_EQ(symbols.VariableAt(8, true).offset, 8u);
  EXPECT_EQ(symbols.VariableAt(40, true).name, "") << "behind it";
  ModuleInfo other = module;
  other.build_id = "other";
  EXPECT_EQ(
      ModuleSymbols(other)
          .VariableAt(reinterpret_cast<std::uint64_t>(variables.global) - library_.bias, false)
          .name,
      "")
      << "another file than the recorded one";
}

TEST(SymbolsWithoutModuleTest, FramesOutsideOfEveryModuleShowTheirAddress) {
  LogBuilder log;
  log::StackTrie* trie = log.definitions().mutable_trie();
  trie->set_first_id(1);
  trie->add_parent(0);
  trie->add_address_delta(0x7f1234);
  trie->add_module(99);  // never defined
  log.Alloc(Layer::kLinear, 0x1000, 64, {.stack = 1});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const SourceFrame site = symbols.Site(session->allocations()[0].stack);
  EXPECT_EQ(site.function, "0x7f1234");
  EXPECT_EQ(site.module, "");
  EXPECT_EQ(symbols.Resolve(FrameId(1000)).front().function, "?");
}

TEST_F(SymbolsTest, InlinedFunctionsVoteAndCanBeTheSite) {
  // Seven other stacks end in Innermost, so it is plumbing here. Inlined, which has no frame of its
  // own, is specific to the captured stack.
  LogBuilder log;
  log::Module* module = log.definitions().add_module();
  module->set_id(1);
  module->set_path(library_.path);
  module->set_load_bias(library_.bias);
  log::StackTrie* trie = log.definitions().mutable_trie();
  trie->set_first_id(1);
  std::uint64_t before = 0;
  const auto native = [&](std::uint32_t parent, int captured) {
    const auto address = reinterpret_cast<std::uint64_t>(capture_.address[captured]);
    trie->add_parent(parent);
    trie->add_address_delta(static_cast<std::int64_t>(address - before));
    trie->add_module(1);
    trie->add_kind(log::FRAME_NATIVE);
    before = address;
    return static_cast<std::uint32_t>(trie->parent_size());
  };
  const std::uint32_t whole = native(native(native(0, 2), 1), 0);
  log.Alloc(Layer::kLinear, 0x1000, 64, {.stack = static_cast<int>(whole)});
  for (std::uint32_t i = 1; i <= 7; ++i) {
    log::PythonFrame* frame = log.definitions().add_python_frame();
    frame->set_id(i);
    frame->set_function(log.String("caller" + std::to_string(i)));
    trie->add_parent(0);
    trie->add_address_delta(i);
    trie->add_module(0);
    trie->add_kind(log::FRAME_PYTHON);
    const std::uint32_t stack = native(static_cast<std::uint32_t>(trie->parent_size()), 0);
    log.Alloc(Layer::kLinear, 0x1000 * (i + 1), 64, {.stack = static_cast<int>(stack)});
  }
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const SourceFrame site = symbols.Site(session->allocations()[0].stack);
  EXPECT_THAT(site.function, EndsWith("Inlined"));
  EXPECT_TRUE(site.inlined);
  EXPECT_EQ(site.line, guest::kLines.inlined);
  EXPECT_EQ(symbols.Site(session->allocations()[1].stack).function, "caller1");
  EXPECT_EQ(symbols.SiteStack(session->allocations()[0].stack).size(), 4u)
      << "the function common to all, the site, and its callers";
}

TEST_F(SymbolsTest, FramesWithoutANameAreAnAnomalyOfTheReader) {
  Loaded gone = library_;
  gone.path = "/nowhere/libgone.so";
  const auto session = SessionWith(gone);
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(session->anomalies().empty());
  Symbols symbols(session);
  for (int twice = 0; twice < 2; ++twice) {  // counted once, even if requested repeatedly
    const auto all = AllAnomalies(*session, symbols);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].anomaly, log::Anomaly::kFramesUnsymbolised);
    EXPECT_EQ(all[0].count, 3u);
  }
  const auto known = SessionWith(library_);
  ASSERT_NE(known, nullptr);
  Symbols named(known);
  EXPECT_TRUE(AllAnomalies(*known, named).empty());
}

TEST(AllAnomaliesTest, KeepTheOrderOfTheTable) {
  LogBuilder log;
  log.Count("frames_unsymbolised", 55);  // a recorder cannot know this
  log.Count("ranges_unbalanced", 2);
  log.Count("events_lost", 1);
  const int nameless = log.Stack({" (a.py:1)"});
  log.Alloc(Layer::kLinear, 0x1000, 64, {.stack = nameless});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const auto all = AllAnomalies(*session, symbols);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].anomaly, log::Anomaly::kEventsLost);
  EXPECT_EQ(all[1].anomaly, log::Anomaly::kFramesUnsymbolised);
  EXPECT_EQ(all[1].count, 1u);
  EXPECT_EQ(all[2].anomaly, log::Anomaly::kRangesUnbalanced);
}

}  // namespace
}  // namespace memprof::analysis
