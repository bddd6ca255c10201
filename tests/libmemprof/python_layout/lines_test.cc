// Line tables against Python's own results, instruction by instruction, for the functions of its
// standard library; and tables of random bytes.
#include "libmemprof/src/python_layout/lines.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/paths.h"

namespace memprof::recorder {
namespace {

using Bytes = std::vector<unsigned char>;

Bytes FromHex(const std::string& hex) {
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<unsigned char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

LineFormat FormatOf(const std::string& name) {
  if (name == "lnotab") return LineFormat::kLnotab;
  return name == "ranges" ? LineFormat::kRanges : LineFormat::kLocations;
}

// Counts code objects, and checks every line of each.
int CompareWith(const std::string& interpreter) {
  FILE* pipe = popen(("'" + interpreter + "' '" + paths::kLinesDump + "'").c_str(), "r");
  if (pipe == nullptr) return 0;
  std::string text;
  char buffer[65536];
  for (std::size_t got; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    text.append(buffer, got);
  EXPECT_EQ(pclose(pipe), 0);
  int codes = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string code, format, table, pairs;
    int first_line = 0;
    words >> code >> format >> first_line >> table >> pairs;
    const Bytes bytes = FromHex(table);
    std::istringstream list(pairs);
    for (std::string pair; std::getline(list, pair, ',');) {
      const std::size_t colon = pair.find(':');
      const int offset = std::stoi(pair.substr(0, colon));
      const int found = LineAt(FormatOf(format), bytes.data(), bytes.size(), first_line, offset);
      if (found != std::stoi(pair.substr(colon + 1))) {
        ADD_FAILURE() << line << "\n at " << offset << " found " << found;
        return codes;
      }
    }
    ++codes;
  }
  return codes;
}

TEST(PythonLinesTest, AgreesWithTheInterpreterOverItsLibrary) {
  std::vector<std::string> interpreters = {MEMPROF_TEST_PYTHON};
  const char* more = std::getenv("MEMPROF_PYTHONS");
  std::istringstream list(more == nullptr ? "" : more);
  for (std::string path; std::getline(list, path, ':');) interpreters.push_back(path);
  for (const std::string& interpreter : interpreters)
    EXPECT_GT(CompareWith(interpreter), 2000) << interpreter;
}

TEST(PythonLinesTest, SmallTables) {
  const auto at = [](LineFormat format, const Bytes& table, std::int64_t offset) {
    return LineAt(format, table.data(), table.size(), 10, offset);
  };
  // 4 bytes at line 10, then line 12, then back to 11.
  const Bytes lnotab = {4, 2, 6, 0xff};
  EXPECT_EQ(at(LineFormat::kLnotab, lnotab, -1), 10);
  EXPECT_EQ(at(LineFormat::kLnotab, lnotab, 3), 10);
  EXPECT_EQ(at(LineFormat::kLnotab, lnotab, 4), 12);
  EXPECT_EQ(at(LineFormat::kLnotab, lnotab, 10), 11);
  // 4 bytes at line 11, 2 without a line, 2 at line 9.
  const Bytes ranges = {4, 1, 2, 0x80, 2, 0xfe};
  EXPECT_EQ(at(LineFormat::kRanges, ranges, -2), 10);
  EXPECT_EQ(at(LineFormat::kRanges, ranges, 0), 11);
  EXPECT_EQ(at(LineFormat::kRanges, ranges, 4), 0);
  EXPECT_EQ(at(LineFormat::kRanges, ranges, 6), 9);
  EXPECT_EQ(at(LineFormat::kRanges, ranges, 8), 0);
  // Two units, one line further; one without a line; one 100 lines back, in the long form.
  const Bytes locations = {
      0x80 | 11 << 3 | 1, 0, 0, 0x80 | 15 << 3, 0x80 | 14 << 3, 0x49, 3, 0, 1, 1};
  EXPECT_EQ(at(LineFormat::kLocations, locations, 2), 11);
  EXPECT_EQ(at(LineFormat::kLocations, locations, 4), 0);
  EXPECT_EQ(at(LineFormat::kLocations, locations, 6), 11 - (0x49 & 63) / 2 - 3 * 32);
  EXPECT_EQ(at(LineFormat::kLocations, locations, 8), 0);
  EXPECT_EQ(at(LineFormat::kLocations, {}, 0), 0);
}

TEST(PythonLinesTest, AnyBytesAreSurvived) {
  std::mt19937 random(5);
  for (int round = 0; round < 20000; ++round) {
    Bytes bytes(random() % 40);
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
    for (const LineFormat format :
         {LineFormat::kLnotab, LineFormat::kRanges, LineFormat::kLocations})
      for (const std::int64_t offset : {-1, 0, 2, 50, 1 << 20})
        LineAt(format, bytes.data(), bytes.size(), 1, offset);
  }
  SUCCEED();
}

}  // namespace
}  // namespace memprof::recorder
