// Which programs the recorder can be loaded into, by what their files say.
#include "cli/run/loadable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "cli/run/elf_file.h"
#include "tests/cli/run/elf_builder.h"
#include "tests/support/read_file.h"
#include "tests/support/temp_file.h"

namespace memprof::cli {
namespace {

using testing::ElfSpec;
using ::testing::HasSubstr;

const std::vector<std::string> kOld = {"GLIBC_2.2.5", "GLIBC_2.9", "GLIBC_2.17"};

// Programs for a loader and a C library that are somewhere below a folder.
class LoadableTest : public ::testing::Test {
 protected:
  std::string Elf(const std::string& path, const ElfSpec& spec) {
    const std::string file = directory_.File(path);
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    directory_.Write(path, testing::BuildElf(spec));
    chmod(file.c_str(), 0755);
    return file;
  }
  std::string Recorder(const std::string& version, int machine = EM_X86_64) {
    return Elf("lib/libmemprof.so", {.machine = machine, .needed = {"GLIBC_2.2.5", version}});
  }
  std::string Program(const std::string& loader, int machine = EM_X86_64) {
    return Elf("program", {.machine = machine, .interpreter = directory_.File(loader)});
  }
  void Link(const std::string& path, const std::string& target) {
    const std::string file = directory_.File(path);
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::filesystem::create_symlink(target, file);
  }
  static Loadable Check(const std::string& recorder, const std::string& program) {
    return CheckLoadable(recorder, {program}, "");
  }
  analysis::testing::TempDirectory directory_;
};

// glibc 2.31 brought no symbol to libc.so.6.
TEST_F(LoadableTest, NamesTheReleaseThatTheLibrarySays) {
  const std::string elf = testing::BuildElf({.defined = {"GLIBC_2.2.5", "GLIBC_2.30"}});
  const auto release = [&](const std::string& text) {
    directory_.Write("libc.so.6", elf + text);
    return ReleaseOfGlibc(directory_.File("libc.so.6"));
  };
  EXPECT_EQ(release("GNU C Library (Debian GLIBC 2.31-13) stable release version 2.31.\nCopyright"),
            "2.31");
  EXPECT_EQ(release(" release version 2.31"), "2.31");  // the file ends here
  EXPECT_EQ(release(" release version next"), "2.30");
  EXPECT_EQ(release(""), "2.30");
  EXPECT_EQ(ReleaseOfGlibc(directory_.File("missing")), "");
}

// Loader and library as the distributions have them: an old library is found in each.
TEST_F(LoadableTest, FindsTheLibraryOfEveryDistribution) {
  struct Layout {
    const char *name, *loader, *link, *library;
    int machine;
  };
  const Layout layouts[] = {
      {"Debian", "d/lib64/ld.so", "../lib/x86_64-linux-gnu/ld-2.19.so",
       "d/lib/x86_64-linux-gnu/libc.so.6", EM_X86_64},
      {"RHEL", "r/lib64/ld.so", "ld-2.17.so", "r/lib64/libc.so.6", EM_X86_64},
      {"NixOS", "nix/store/glibc/lib/ld.so", "", "nix/store/glibc/lib/libc.so.6", EM_X86_64},
      {"Debian on ARM", "da/lib/ld.so", "aarch64-linux-gnu/ld-2.28.so",
       "da/lib/aarch64-linux-gnu/libc.so.6", EM_AARCH64},
      {"a copy of the loader in lib", "dc/lib/ld.so", "", "dc/lib/aarch64-linux-gnu/libc.so.6",
       EM_AARCH64},
      {"RHEL on ARM", "ra/lib/ld.so", "../lib64/ld-2.26.so", "ra/lib64/libc.so.6", EM_AARCH64},
      {"openSUSE on ARM", "sa/lib/ld.so", "", "sa/lib64/libc.so.6", EM_AARCH64},
  };
  for (const Layout& layout : layouts) {
    SCOPED_TRACE(layout.name);
    std::string loader = layout.loader;
    Elf(layout.library, {.machine = layout.machine, .defined = kOld});
    if (*layout.link != '\0') {
      Link(loader, layout.link);
      loader = (std::filesystem::path(loader).parent_path() / layout.link).lexically_normal();
    }
    Elf(loader, {.machine = layout.machine, .defined = {"GLIBC_2.3"}});
    const std::string program = Program(layout.loader, layout.machine);
    EXPECT_TRUE(Check(Recorder("GLIBC_2.17", layout.machine), program).recorded());
    const Loadable old = Check(Recorder("GLIBC_2.34", layout.machine), program);
    EXPECT_FALSE(old.preloads);
    EXPECT_EQ(old.why, program + " uses glibc 2.17 (" + directory_.File(layout.library) +
                           "), and the recorder needs 2.34");
  }
}

TEST_F(LoadableTest, TakesNoLibraryOfAnotherMachine) {
  Elf("lib/ld.so", {.defined = {"GLIBC_2.3"}});
  Elf("lib/libc.so.6", {.machine = EM_386, .defined = kOld});
  Elf("lib64/libc.so.6", {.defined = {"GLIBC_2.2.5", "GLIBC_2.34"}});
  EXPECT_TRUE(Check(Recorder("GLIBC_2.34"), Program("lib/ld.so")).recorded());
}

TEST_F(LoadableTest, AVersionForWeakSymbolsIsNotNeeded) {
  Elf("lib/ld.so", {.defined = {"GLIBC_2.3"}});
  Elf("lib/libc.so.6", {.defined = kOld});
  const std::string weak = Elf("weak.so", {.needed = {"GLIBC_2.34"}, .weak = true});
  EXPECT_TRUE(Check(weak, Program("lib/ld.so")).recorded());
  EXPECT_FALSE(Check(Recorder("GLIBC_2.34"), Program("lib/ld.so")).recorded());
}

TEST_F(LoadableTest, SaysWhyAProgramIsNotRecorded) {
  const std::string recorder = Recorder("GLIBC_2.17");
  const auto why = [&](const ElfSpec& spec, const std::string& name = "program") {
    const Loadable loadable = Check(recorder, Elf(name, spec));
    EXPECT_EQ(loadable.recorded(), loadable.remedy.empty());
    return (loadable.preloads ? "" : "ends: ") + loadable.why;
  };
  EXPECT_THAT(why({}), HasSubstr("is linked statically"));
  EXPECT_THAT(why({.machine = EM_AARCH64}), HasSubstr("another kind of processor"));
  EXPECT_THAT(why({.interpreter = "/lib/ld-musl-x86_64.so.1"}), HasSubstr("ends: "));
  EXPECT_THAT(why({}, "ld-musl-x86_64.so.1"), HasSubstr("uses musl")) << "started as a program";
  EXPECT_EQ(why({.app_image = true}), "") << "the program in it is recorded";
  EXPECT_EQ(why({.interpreter = "/no/such/loader"}), "");
  EXPECT_EQ(why({.interpreter = directory_.File("")}), "");
}

// Loaders that are started as programs load the library beside them.
TEST_F(LoadableTest, ALoaderIsCheckedAsAProgram) {
  const std::string loader = Elf("lib/ld-2.17.so", {.defined = {"GLIBC_2.3"}});
  Elf("lib/libc.so.6", {.defined = kOld});
  EXPECT_TRUE(Check(Recorder("GLIBC_2.17"), loader).recorded());
  EXPECT_FALSE(Check(Recorder("GLIBC_2.34"), loader).preloads);
}

TEST_F(LoadableTest, DamagedFilesAreIgnored) {
  Elf("lib/ld.so", {.defined = {"GLIBC_2.3"}});
  Elf("lib/libc.so.6", {.defined = kOld});
  const std::string recorder = Recorder("GLIBC_2.34"), program = Program("lib/ld.so");
  const std::string bytes = memprof::testing::ReadFile(program);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(~damaged[i]);
    directory_.Write("program", damaged);
    Check(recorder, program);  // says something, or nothing; but ends
    directory_.Write("program", bytes.substr(0, i));
    Check(recorder, program);
    directory_.Write("lib/libc.so.6", damaged);
    Check(recorder, directory_.Write("program", bytes));
  }
  ASSERT_EQ(mkfifo(directory_.File("pipe").c_str(), 0600), 0);
  EXPECT_TRUE(Check(recorder, Program("pipe")).recorded());
}

}  // namespace
}  // namespace memprof::cli
