#include "cli/console/table.h"

#include <gtest/gtest.h>

#include "cli/console/text.h"

namespace memprof::cli {
namespace {

TEST(TableTest, TablesAlignAndFit) {
  Table table({Align::kRight, Align::kLeft, Align::kLeft});
  table.Header({"n", "name", "site"});
  table.Row({"1", "a", "short"});
  table.Row({"1000", "longer", std::string(200, 'x')});
  const std::string text = table.Text(40);
  EXPECT_EQ(text.substr(0, text.find('\n')), "     n  name    site");
  EXPECT_NE(text.find("     1  a       short\n"), std::string::npos);
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(Columns(text.substr(begin, end - begin)), 40u);
    begin = end + 1;
  }
}

TEST(TableTest, TheLastColumnMayBeWrapped) {
  Table table({Align::kRight, Align::kLeft});
  table.Header({"n", "holder"});
  table.WrapLast();
  table.Row({"1000", "one two three four five"});
  table.Row({"1", std::string(30, 'x')});
  EXPECT_EQ(table.Text(24),
            "     n  holder\n"
            "  1000  one two three\n"
            "        four five\n"
            "     1  " +
                std::string(30, 'x') + "\n");
}

}  // namespace
}  // namespace memprof::cli
