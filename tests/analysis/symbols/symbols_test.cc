// Functions, files, lines and inlining of a library whose truth is known; and what is said when
// the binary is missing, changed or stripped.
#include "analysis/symbols/symbols.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdlib>
#include <cstring>

#include "analysis/symbols/symbols_module.h"
#include "tests/analysis/symbols/symbols_guest.h"
#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::LoadLog;
using testing::LogBuilder;
using testing::TempDirectory;

struct Loaded {
  std::string path, build_id;
  std::uint64_t bias = 0, first = 0, end = 0;
};

// The loaded object that contains `address`, as the dynamic linker tells.
Loaded ObjectOf(const void* address) {
  struct Search {
    std::uint64_t address;
    Loaded found;
  } search{reinterpret_cast<std::uint64_t>(address), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto* const wanted = static_cast<Search*>(data);
        Loaded object{.path = info->dlpi_name, .bias = info->dlpi_addr, .first = ~0ull};
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& header = info->dlpi_phdr[i];
          const std::uint64_t begin = info->dlpi_addr + header.p_vaddr;
          if (header.p_type == PT_LOAD) {
            object.first = std::min<std::uint64_t>(object.first, begin);
            object.end = std::max<std::uint64_t>(object.end, begin + header.p_memsz);
          }
          if (header.p_type != PT_NOTE) continue;
          const char* at = reinterpret_cast<const char*>(begin);
          for (const char* const last = at + header.p_memsz; at < last;) {
            const auto* const note = reinterpret_cast<const ElfW(Nhdr)*>(at);
            const char* const content = at + sizeof *note + (note->n_namesz + 3) / 4 * 4;
            if (note->n_type == NT_GNU_BUILD_ID) object.build_id.assign(content, note->n_descsz);
            at = content + (note->n_descsz + 3) / 4 * 4;
          }
        }
        if (wanted->address < object.first || wanted->address >= object.end) return 0;
        wanted->found = object;
        return 1;
      },
      &search);
  return search.found;
}

class SymbolsTest : public ::testing::Test {
 protected:
  SymbolsTest() : capture_(guest::Outer()), library_(ObjectOf(capture_.address[0])) {}

  // A session with the captured stack in `library`.
  std::shared_ptr<const Session> SessionWith(const Loaded& library) {
    LogBuilder log;
    log::Module* module = log.definitions().add_module();
    module->set_id(4);
    module->set_path(library.path);
    module->set_build_id(library.build_id);
    module->set_load_bias(library.bias);
    module->set_first_address(library.first);
    module->set_end_address(library.end);
    log::StackTrie* trie = log.definitions().mutable_trie();
    trie->set_first_id(1);
    std::uint64_t before = 0;
    for (int i = 2; i >= 0; --i) {  // outermost first: Outer, Middle, Innermost
      const auto address = reinterpret_cast<std::uint64_t>(capture_.address[i]);
      trie->add_parent(static_cast<std::uint32_t>(2 - i));
      trie->add_address_delta(static_cast<std::int64_t>(address - before));
      trie->add_module(4);
      before = address;
    }
    log.Alloc(Layer::kLinear, 0x1000, 64, {.stack = 3});
    return LoadLog(log);
  }

  const guest::Capture capture_;
  const Loaded library_;
};

TEST_F(SymbolsTest, FunctionsLinesAndInlining) {
  ASSERT_THAT(library_.path, HasSubstr("symbols_guest"));
  ASSERT_FALSE(library_.build_id.empty());
  const auto session = SessionWith(library_);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const std::vector<SourceFrame> frames = symbols.ResolveStack(session->allocations()[0].stack);
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
  EXPECT_EQ(symbols.unsymbolised(), 0u);
  // The same answer, at the same place, the second time.
  const FrameId frame = session->StackFrame(session->allocations()[0].stack);
  EXPECT_EQ(&symbols.Resolve(frame), &symbols.Resolve(frame));
}

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
  const TempDirectory directory;
  Loaded stripped = library_;
  stripped.path = directory.File("libstripped_guest.so");
  const std::string command =
      "objcopy --strip-debug '" + library_.path + "' '" + stripped.path + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const auto session = SessionWith(stripped);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const auto frames = symbols.ResolveStack(session->allocations()[0].stack);
  ASSERT_EQ(frames.size(), 3u);  // nothing is known of inlining
  EXPECT_EQ(frames[2].function, "guest::Outer");
  EXPECT_THAT(frames[1].function, EndsWith("Holder::Middle"));
  EXPECT_EQ(frames[2].line, 0);
  EXPECT_EQ(frames[2].file, "");
}

// Of a module that is asked for often, symbols are looked up in an index: with the same answers.
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
  const TempDirectory directory;
  Loaded stripped = library_;
  stripped.path = directory.File("libbare_guest.so");
  const std::string command =
      "strip --strip-all -o '" + stripped.path + "' '" + library_.path + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const auto session = SessionWith(stripped);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const auto frames = symbols.ResolveStack(session->allocations()[0].stack);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[2].function, "guest::Outer");  // from the dynamic symbols
  EXPECT_TRUE(frames[2].symbolised);
  for (const int local : {0, 1}) {
    EXPECT_FALSE(frames[local].symbolised);
    // Not the name of an exported neighbour, but the place in the file.
    EXPECT_THAT(frames[local].function, ::testing::StartsWith("libbare_guest.so+0x"));
    EXPECT_EQ(frames[local].module, "libbare_guest.so");
  }
  EXPECT_EQ(symbols.unsymbolised(), 2u);
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
  // Seven other stacks end in Innermost, so it is plumbing here; Inlined, which no frame of its own
  // stands for, is what is particular to the captured one.
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
      << "the function that all go through, the site, and its callers";
}

TEST_F(SymbolsTest, FramesWithoutANameAreAnAnomalyOfTheReader) {
  Loaded gone = library_;
  gone.path = "/nowhere/libgone.so";
  const auto session = SessionWith(gone);
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(session->anomalies().empty());
  Symbols symbols(session);
  for (int twice = 0; twice < 2; ++twice) {  // counted once, however often it is asked
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
  log.Count("frames_unsymbolised", 55);  // no recorder can know that
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

// The place a person would name, from named frames, outermost first.
std::string SiteOf(const std::vector<std::string>& frames) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x1000, 64, {.stack = log.Stack(frames)});
  const auto session = LoadLog(log);
  return session ? Symbols::Describe(Symbols(session).Site(session->allocations()[0].stack)) : "";
}

TEST(SiteTest, SkipsAllocatorsContainersAndWrappers) {
  EXPECT_EQ(SiteOf({"main (a.cc:1)", "Train (b.cc:22)", "cudaMalloc"}), "Train (b.cc:22)");
  EXPECT_EQ(SiteOf({"main (a.cc:1)", "Cache::Insert (b.cc:7)", "std::vector<int>::push_back",
                    "app::CachingAllocator::Allocate (alloc.cc:9)"}),
            "Cache::Insert (b.cc:7)");
  EXPECT_EQ(SiteOf({"main (a.cc:1)", "AllocateWorkspace (b.cc:3)"}), "AllocateWorkspace (b.cc:3)");
  EXPECT_EQ(SiteOf({"step (train.py:5)", "forward (/usr/lib/python3/site-packages/torch/nn.py:1)"}),
            "step (train.py:5)");
  EXPECT_EQ(SiteOf({"cudaMalloc", "cuMemAlloc_v2"}), "cuMemAlloc_v2");  // nothing else: innermost
  EXPECT_EQ(SiteOf({}), "");
}

TEST(DescribeTest, SaysWhatIsKnown) {
  EXPECT_EQ(Symbols::Describe({.function = "f", .file = "/src/dir/a.cc", .line = 3}), "f (a.cc:3)");
  EXPECT_EQ(Symbols::Describe({.function = "f", .file = "/src/dir/a.cc"}), "f (a.cc)");
  EXPECT_EQ(Symbols::Describe({.function = "f", .module = "liba.so", .symbolised = true}),
            "f (liba.so)");
  EXPECT_EQ(Symbols::Describe({.function = "liba.so+0x10", .module = "liba.so"}), "liba.so+0x10");
}

TEST(ReadableNameTest, DropsParametersReturnTypesAndClones) {
  EXPECT_EQ(ReadableName("_ZN2ai5Layer7ForwardEi"), "ai::Layer::Forward");
  EXPECT_EQ(ReadableName("_ZNK2ai5Layer4SizeEv"), "ai::Layer::Size");
  EXPECT_EQ(ReadableName("_Z3addIiET_S0_S0_"), "add<int>");  // int add<int>(int, int)
  EXPECT_EQ(ReadableName("_ZN1AclEi"), "A::operator()");
  EXPECT_EQ(ReadableName("_ZnwmSt11align_val_t"), "operator new");
  EXPECT_EQ(ReadableName("_ZN1AcvPKcEv"), "A::operator char const*");
  EXPECT_EQ(ReadableName("_ZN1A3runEv.cold"), "A::run");
  EXPECT_EQ(ReadableName("_ZNSt6vectorIiSaIiEE9push_backERKi"),
            "std::vector<int, std::allocator<int> >::push_back");
  EXPECT_EQ(ReadableName("main"), "main");
  EXPECT_EQ(ReadableName("i"), "i");  // not the type int
  EXPECT_EQ(ReadableName("_Znot mangled"), "_Znot mangled");
}

}  // namespace
}  // namespace memprof::analysis
