// Where the sources of a log are found, and which files are refused.
#include "analysis/source/source_text.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <utime.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis {
namespace {

using testing::TempDirectory;

std::string ErrorOf(const absl::Status& status) { return std::string(status.message()); }

TEST(SourceText, LooksAtTheRecordedPathThenThroughMapsThenInCheckouts) {
  const SourcePlaces places{
      "/run", "/home/me/build/bin/train", {{"/build", "/home/me"}, {"", "/checkout"}}, 0};
  EXPECT_EQ(PlacesOfSource("/build/a/t.py", places),
            (std::vector<std::string>{"/build/a/t.py", "/home/me/a/t.py", "/checkout/build/a/t.py",
                                      "/checkout/a/t.py", "/checkout/t.py"}));
  EXPECT_EQ(PlacesOfSource("/builder/t.py", {"", "", {{"/build", "/home/me"}}, 0}),
            std::vector<std::string>{"/builder/t.py"})
      << "a prefix ends with a whole name";
  EXPECT_EQ(PlacesOfSource("../a/t.cc", {"/run", "/home/me/build/bin/train", {}, 0}),
            (std::vector<std::string>{"/run/../a/t.cc", "/home/me/build/bin/a/t.cc",
                                      "/home/me/build/a/t.cc", "/home/me/a/t.cc", "/home/a/t.cc",
                                      "/a/t.cc"}));
  EXPECT_EQ(PlacesOfSource("../../t.py", {"", "", {{"", "/checkout"}}, 0}),
            std::vector<std::string>{"/checkout/t.py"})
      << "a log does not lead out of a checkout";
}

TEST(SourceText, ReadsTheFirstFileThatExists) {
  const TempDirectory folder;
  std::filesystem::create_directories(folder.File("me/a"));
  folder.Write("me/a/t.py", "one\n\ttwo\r\nthree");
  const auto text = ReadSource("/no/such/folder/a/t.py", {"", "", {{"", folder.File("me")}}, 0}, 3);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(text->path, folder.File("me/a/t.py"));
  EXPECT_EQ(text->lines, (std::vector<std::string>{"one", "    two", "three"}));
  EXPECT_EQ(text->doubt, "");
  EXPECT_EQ(ErrorOf(ReadSource("/no/such/t.py", {}, 0).status()),
            "/no/such/t.py is not on this machine.");
}

TEST(SourceText, SearchesACheckoutForTheLongestCommonEnd) {
  const TempDirectory folder;
  for (const char* name : {"x/a", "y/b", "z/b", ".git/b"})
    std::filesystem::create_directories(folder.File(name));
  for (const char* name : {"x/a/t.py", "x/a/u.py", "y/b/t.py", "z/b/t.py", ".git/b/u.py"})
    folder.Write(name, name);
  const SourcePlaces places{"", "", {{"", folder.File("")}}, 0};
  const auto found = [&](const std::string& file) {
    const auto text = ReadSource(file, places, 0);
    return text.ok() ? text->lines[0] : ErrorOf(text.status());
  };
  EXPECT_EQ(found("/src/a/t.py"), "x/a/t.py");
  EXPECT_EQ(found("/src/b/u.py"), "x/a/u.py") << "not in a folder that is hidden";
  const std::string two = found("/src/b/t.py");
  EXPECT_TRUE(two.starts_with("/src/b/t.py may be ")) << two;
  EXPECT_NE(two.find("y/b/t.py"), std::string::npos);
  EXPECT_NE(two.find("z/b/t.py"), std::string::npos);
  EXPECT_EQ(found("/src/v.py"), "/src/v.py is not on this machine.");
}

TEST(SourceText, DoubtsWhatIsShorterOrNewerThanTheRun) {
  const TempDirectory folder;
  const std::string path = folder.Write("t.py", "one\ntwo\n");
  const utimbuf old{1000, 1000};
  ASSERT_EQ(utime(path.c_str(), &old), 0);
  EXPECT_EQ(ReadSource(path, {"", "", {}, 1'000'000'000'000}, 2)->doubt, "");
  EXPECT_EQ(ReadSource(path, {"", "", {}, 999'000'000'000}, 2)->doubt,
            "Changed after the run began: these may not be the lines that ran.");
  EXPECT_EQ(ReadSource(path, {}, 3)->doubt,
            "This is not the text that ran: it has 2 lines, and the log names line 3.");
}

TEST(SourceText, RefusesWhatIsNoSourceText) {
  const TempDirectory folder;
  const auto error = [](const std::string& path) {
    return ErrorOf(ReadSource(path, {}, 0).status());
  };
  EXPECT_EQ(error("/etc/passwd"),
            "/etc/passwd does not end as a source file does, and is not opened.");
  const std::string pipe = folder.File("pipe.py");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error(pipe), pipe + " is not a regular file.");
  std::filesystem::create_directory(folder.File("folder.py"));
  EXPECT_EQ(error(folder.File("folder.py")), folder.File("folder.py") + " is not a regular file.");
  EXPECT_EQ(error(folder.Write("binary.py", std::string_view("a\0b", 3))),
            folder.File("binary.py") + " is not text.");
  EXPECT_EQ(error(folder.Write("large.py", std::string((4 << 20) + 1, 'x'))),
            folder.File("large.py") + " is larger than 4 MiB.");
  EXPECT_EQ(error(folder.Write("lines.py", std::string(200'001, '\n'))),
            folder.File("lines.py") + " has more than 200000 lines.");
}

TEST(SourceText, ShowsNoControlCharactersAndCutsLongLines) {
  const TempDirectory folder;
  const auto text = ReadSource(
      folder.Write("t.py", absl::StrCat("a\x1b[2J\xff", "é\n", std::string(999, 'x'), "éé\n")), {},
      0);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->lines[0], "a?[2J\ufffdé");
  EXPECT_EQ(text->lines[1], absl::StrCat(std::string(999, 'x'), "é…")) << "a whole character";
}

TEST(SourceMaps, AreParsedAndLearned) {
  EXPECT_EQ(*ParseSourceMap("/a=/b=c"), (SourceMap{"/a", "/b=c"}));
  EXPECT_EQ(*ParseSourceMap("/checkout"), (SourceMap{"", "/checkout"}));
  EXPECT_FALSE(ParseSourceMap("").ok());
  EXPECT_FALSE(ParseSourceMap("=/b").ok());
  EXPECT_FALSE(ParseSourceMap("/a=").ok());
  for (const std::string text : {"/a=/b", "/checkout"})
    EXPECT_EQ(SourceMapText(*ParseSourceMap(text)), text);
  EXPECT_EQ(ErrorOf(LearnSourceMap("/a/t.py", "/b/u.py").status()),
            "The log names t.py, and u.py was chosen.");
  EXPECT_EQ(*LearnSourceMap("/src/app/a/t.py", "/home/me/app/a/t.py"),
            (SourceMap{"/src", "/home/me"}));
}

TEST(SourceMaps, LeadToTheFileFromWhichTheyWereLearned) {
  for (const auto& [file, path] : {std::pair("/src/a/t.py", "/home/me/a/t.py"),
                                   {"/a/t.py", "/home/a/t.py"},
                                   {"/home/me/a/t.py", "/a/t.py"},
                                   {"/src/t.py", "/t.py"},
                                   {"t.py", "/home/t.py"},
                                   {"a/t.py", "/home/a/t.py"},
                                   {"./a/t.py", "/home/a/t.py"},
                                   {"a/t.py", "/home/b/t.py"}}) {
    const auto map = LearnSourceMap(file, path);
    ASSERT_TRUE(map.ok()) << file;
    const auto found = PlacesOfSource(file, {"", "", {*map}, 0});
    bool reached = false;
    for (const std::string& place : found)
      reached |= std::filesystem::path(place).lexically_normal() == std::filesystem::path(path);
    EXPECT_TRUE(reached) << file << " as " << path << " by " << SourceMapText(*map);
  }
}

}  // namespace
}  // namespace memprof::analysis
