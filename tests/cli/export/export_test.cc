// export: files are written completely, replace others only on request, and have the right
// contents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/cli_test_support.h"
#include "tests/support/read_file.h"

namespace memprof::cli::testing {
namespace {

using ::testing::HasSubstr;
using CsvRows = std::vector<std::vector<std::string>>;

std::string Read(const std::string& path) { return memprof::testing::ReadFile(path); }

// A simple RFC 4180 reader.
CsvRows ParseCsv(const std::string& text) {
  CsvRows rows(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      rows.back().back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      rows.back().emplace_back();
    } else if (!quoted && c == '\n') {
      rows.push_back({""});
    } else if (quoted || c != '\r') {
      rows.back().back() += c;
    }
  }
  rows.pop_back();  // after the last line
  return rows;
}

TEST(ExportTest, WritesOneRowPerAllocation) {
  const Logs logs;
  const Result result =
      Memprof({"export", "--to", "csv", "-o", "out.csv", "train.mprof"}, logs.path());
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "");
  const CsvRows rows = ParseCsv(Read(logs.directory().File("out.csv")));
  ASSERT_EQ(rows.size(), 172u + 1);
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  EXPECT_EQ(rows[1][0], "0");
  EXPECT_EQ(rows[1][1], "pinned");
  EXPECT_EQ(rows[1][7], "");  // never freed
  EXPECT_EQ(rows[1][10], "alive");
}

TEST(ExportTest, QuotesWhatNeedsQuotes) {
  const Logs logs;
  const Result result = Memprof({"export", "--table=events", "-o", "-", "raw.mprof"}, logs.path());
  const CsvRows rows = ParseCsv(result.out);
  bool found = false;
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), rows[0].size());
    found |= row[12] == "fill \"it\"";
  }
  EXPECT_TRUE(found);
}

TEST(ExportTest, NeverOverwritesUnlessForced) {
  const Logs logs;
  const std::string path = logs.directory().Write("mine.csv", "precious");
  const Result refused = Memprof({"export", "-o", "mine.csv", "train.mprof"}, logs.path());
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("mine.csv: exists already; --force overwrites it"));
  EXPECT_EQ(Read(path), "precious");
  EXPECT_EQ(Memprof({"export", "--force", "-o", "mine.csv", "train.mprof"}, logs.path()).status, 0);
  EXPECT_THAT(Read(path), HasSubstr("loss_history"));
}

TEST(ExportTest, ReplacesWithForceWhatALinkLeadsToAndKeepsItsMode) {
  const Logs logs;
  const auto& folder = logs.directory();
  std::filesystem::create_directory(folder.File("far"));
  folder.Write("far/real.csv", "old");
  std::filesystem::permissions(folder.File("far/real.csv"), std::filesystem::perms(0640));
  std::filesystem::create_symlink("far/real.csv", folder.File("link.csv"));
  EXPECT_EQ(Memprof({"export", "--force", "-o", "link.csv", "raw.mprof"}, logs.path()).status, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(folder.File("link.csv")));
  EXPECT_THAT(Read(folder.File("far/real.csv")), HasSubstr("allocation,layer"));
  EXPECT_EQ(std::filesystem::status(folder.File("far/real.csv")).permissions(),
            std::filesystem::perms(0640));
}

TEST(ExportTest, NeverWritesOverTheLogItself) {
  const Logs logs;
  const std::string log = Read(logs.directory().File("train.mprof"));
  std::filesystem::create_symlink("train.mprof", logs.directory().File("alias.csv"));
  for (const std::string name : {"train.mprof", "./train.mprof", "alias.csv"}) {
    const Result result = Memprof({"export", "--force", "-o", name, "train.mprof"}, logs.path());
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.err, "memprof: " + name + ": is the log itself\n");
  }
  EXPECT_EQ(Read(logs.directory().File("train.mprof")), log);
}

TEST(ExportTest, WritesToFilesOnly) {
  const Logs logs;
  for (const bool force : {false, true}) {
    std::vector<std::string> arguments = {"export", "-o", ".", "train.mprof"};
    if (force) arguments.push_back("--force");
    const Result result = Memprof(arguments, logs.path());
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.err, "memprof: .: not a regular file\n");
  }
}

// Malicious or unusual names are read back unchanged.
TEST(ExportTest, AnyNameSurvives) {
  const std::string names[] = {"plain",      "a,b",        "say \"hi\"", "\"",        "two\nlines",
                               "cr\rlf\r\n", "  spaces  ", "=1+1",       "tab\there", "ünï ✓"};
  analysis::testing::LogBuilder log;
  const int site = log.Stack({"odd\"name,\nof a (f,i\"le.cc:3)"});
  std::uint64_t address = 0x1000;
  for (const std::string& name : names)
    log.TensorCreate(address += 0x1000, 64, log.Tensor(name, name, {2, 3}),
                     {.stack = site, .api = name});
  const analysis::testing::TempDirectory directory;
  const std::string path = directory.Write("odd.mprof", log.Bytes());
  const Result lives = Memprof({"export", "-o", "-", path});
  const Result events = Memprof({"export", "--table=events", "-o", "-", path});
  const CsvRows life_rows = ParseCsv(lives.out), event_rows = ParseCsv(events.out);
  ASSERT_EQ(life_rows.size(), std::size(names) + 1);
  ASSERT_EQ(event_rows.size(), std::size(names) + 1);
  const auto column = [](const CsvRows& rows, const std::string& name) {
    const auto at = std::find(rows[0].begin(), rows[0].end(), name);
    EXPECT_NE(at, rows[0].end()) << name;
    return static_cast<std::size_t>(at - rows[0].begin());
  };
  for (std::size_t i = 0; i < std::size(names); ++i) {
    const auto& life = life_rows[i + 1];
    const auto& event = event_rows[i + 1];
    ASSERT_EQ(life.size(), life_rows[0].size());
    ASSERT_EQ(event.size(), event_rows[0].size());
    for (const char* name : {"name", "dtype", "api"})
      EXPECT_EQ(life[column(life_rows, name)], names[i]);
    EXPECT_EQ(life[column(life_rows, "shape")], "2x3");
    EXPECT_EQ(event[column(event_rows, "name")], names[i]);
    EXPECT_EQ(event[column(event_rows, "api")], names[i]);
  }
}

// For any damaged log, every format is written completely, or not at all with a one-line reason.
TEST(ExportTest, EveryFormatTakesDamagedLogs) {
  analysis::testing::LogBuilder log;
  WriteTraining(log);
  const std::string good = log.Bytes();
  const analysis::testing::TempDirectory directory;
  std::size_t written = 0;
  for (const std::size_t damage : {good.size() / 3, good.size() / 2, good.size() - 40}) {
    std::string cut = good.substr(0, damage), flipped = good;
    flipped[damage] = static_cast<char>(flipped[damage] ^ 0x40);
    directory.Write("cut.mprof", cut);
    directory.Write("flipped.mprof", flipped);
    for (const std::string name : {"cut", "flipped"}) {
      for (const std::string format : {"csv", "html", "perfetto", "pprof", "pytorch", "sqlite"}) {
        const std::string out = directory.File("out." + format);
        const Result result = Memprof({"export", "--format=" + format, "--force", "-o", out,
                                       directory.File(name + ".mprof")});
        EXPECT_THAT(result.status, ::testing::AnyOf(0, 1)) << format;
        const bool one_line = std::count(result.err.begin(), result.err.end(), '\n') <= 1;
        EXPECT_TRUE(one_line) << result.err;
        EXPECT_EQ(std::filesystem::exists(out), result.status == 0) << format;
        written += std::filesystem::remove(out);
      }
    }
  }
  EXPECT_GT(written, 10u);
}

TEST(ExportTest, LeavesNothingBehindWhenItCannotWrite) {
  const Logs logs;
  const Result result = Memprof({"export", "-o", "no/such/folder.csv", "train.mprof"}, logs.path());
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("no/such/folder.csv"));
  const Result bad = Memprof({"export", "-o", "bad.csv", "none.mprof"}, logs.path());
  EXPECT_EQ(bad.status, 1);
  EXPECT_FALSE(std::filesystem::exists(logs.directory().File("bad.csv")));
}

}  // namespace
}  // namespace memprof::cli::testing
