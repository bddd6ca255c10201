// export: files are written whole, never over others unless asked, and read back as written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

using ::testing::HasSubstr;
using Rows = std::vector<std::vector<std::string>>;

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// A plain RFC 4180 reader.
Rows ParseCsv(const std::string& text) {
  Rows rows(1, {""});
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
  const Rows rows = ParseCsv(Read(logs.directory().File("out.csv")));
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
  const Rows rows = ParseCsv(result.out);
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
