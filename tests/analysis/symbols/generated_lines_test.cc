// Generated files are known by their names, and their lines lead to the user's.
#include "analysis/symbols/generated_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/load/load.h"
#include "analysis/symbols/symbols.h"
#include "analysis/testing/log_builder.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis {
namespace {

using ::testing::ElementsAre;

std::string Hash() { return "cab" + std::string(49, 'x'); }
std::string File() { return "/tmp/cache/ab/" + Hash() + ".py"; }

std::vector<std::string> Origin(const std::string& text, int line) {
  std::vector<std::string> frames;
  for (const SourceFrame& frame :
       GeneratedLines(KeptSources{{LinesName(File()), text}}).OriginOf(File(), line))
    frames.push_back(frame.function + " " + frame.file + ":" + std::to_string(frame.line));
  return frames;
}

TEST(GeneratedLinesTest, AFileIsKnownByTheHashInItsName) {
  EXPECT_TRUE(IsGeneratedFile(File()));
  EXPECT_TRUE(IsGeneratedFile("/ab/" + Hash() + ".py"));
  for (const std::string& other :
       {"/tmp/cache/ac/" + Hash() + ".py", "/tmp/cache/ab/" + Hash() + "2.py",
        "/tmp/cache/ab/" + Hash() + ".pyc", "ab/" + Hash() + ".py", Hash() + ".py",
        "/tmp/cache/ab/cab" + std::string(49, '1') + ".py",
        "/tmp/cache/bx/bbx" + std::string(49, 'x') + ".py", std::string(".py"), std::string()})
    EXPECT_FALSE(IsGeneratedFile(other)) << other;
}

TEST(GeneratedLinesTest, ALineIsOfThePartThatBeginsBeforeIt) {
  const std::string text =
      "10\n  File \"/p/t.py\", line 32, in forward\n  File \"/p/t.py\", line 17, in block\n"
      "20\n30\nFile \"/p/a \"b\".py\", line 5, in <module>\n";
  EXPECT_THAT(Origin(text, 9), ElementsAre());
  EXPECT_THAT(Origin(text, 10), ElementsAre("block /p/t.py:17", "forward /p/t.py:32"));
  EXPECT_THAT(Origin(text, 19), ElementsAre("block /p/t.py:17", "forward /p/t.py:32"));
  EXPECT_THAT(Origin(text, 20), ElementsAre()) << "a part without a stack";
  EXPECT_THAT(Origin(text, 1000), ElementsAre("<module> /p/a \"b\".py:5"));
  EXPECT_TRUE(
      GeneratedLines(KeptSources{{LinesName(File()), text}}).OriginOf("/ab/other.py", 10).empty());
  EXPECT_TRUE(GeneratedLines(KeptSources{{File(), text}}).OriginOf(File(), 10).empty())
      << "another file";
}

TEST(GeneratedLinesTest, WhatHasNotTheFormIsLeftOut) {
  EXPECT_THAT(Origin("File \"/p/t.py\", line 1, in f\n10\n", 10), ElementsAre()) << "of no part";
  for (const std::string line :
       {"File \"/p/t.py\", line 0, in f", "File \"/p/t.py\", line -3, in f",
        "File \"/p/t.py\", line 99999999999, in f", "File \"/p/t.py\", line 1", "File \"",
        "File \"/p/t.py\", line 1, in ", "x = block(x)", "^^^^", "-5", "10x", ""})
    EXPECT_THAT(Origin("10\n" + line + "\n  File \"/p/t.py\", line 7, in f", 10),
                ElementsAre("f /p/t.py:7"))
        << line;
  std::string deep = "10\n";
  for (int i = 0; i < 1000; ++i) deep += "  File \"/p/t.py\", line 7, in f\n";
  EXPECT_EQ(Origin(deep, 10).size(), 64u);
  EXPECT_THAT(Origin("20\nFile \"b\", line 2, in b\n10\nFile \"a\", line 1, in a", 15),
              ElementsAre("a a:1"))
      << "in any order";
}

// The user's line is the site, as if the generated code had been inlined into it.
TEST(GeneratedLinesTest, TheSiteIsTheUsersLine) {
  const testing::TempDirectory folder;
  testing::LogBuilder log;
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  log.header().set_hostname(host);
  for (const int line : {12, 40})
    log.Alloc(Layer::kLinear, 0x1000u * static_cast<unsigned>(line), 64,
              {.stack = log.Stack({"main (/p/t.py:50)", "forward (/p/t.py:29)",
                                   "run (/v/lib/python3/site-packages/torch/x.py:3)",
                                   "call (" + File() + ":" + std::to_string(line) + ")"})});
  const std::string path = folder.Write("a.mprof", log.Bytes({}));
  ASSERT_TRUE(AppendSources(path, {{LinesName(File()),
                                    "10\n  File \"/p/t.py\", line 32, in forward\n"
                                    "  File \"/p/t.py\", line 17, in block\n20\n"}})
                  .ok());
  const auto session = LoadLogs({path});
  ASSERT_TRUE(session.ok()) << session.status();
  Symbols symbols(*session);
  std::vector<std::string> sites;
  for (const AllocationRecord& record : (*session)->records())
    sites.push_back(CallSiteText(symbols.SiteOf(record.stack), NameStyle::kShort));
  EXPECT_THAT(sites,
              ElementsAre("block (t.py:17)", "forward (t.py:29), in call (" + Hash() + ".py:40)"));
}

}  // namespace
}  // namespace memprof::analysis
