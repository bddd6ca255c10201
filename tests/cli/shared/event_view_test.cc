#include "cli/shared/event_view.h"

#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

TEST(EventViewTest, JsonStrings) {
  const auto json = [](std::string_view text) {
    std::string out;
    AppendJsonString(text, out);
    return out;
  };
  EXPECT_EQ(json("plain"), "\"plain\"");
  EXPECT_EQ(json("a\"b\\c\n"), R"("a\"b\\c\n")");
  EXPECT_EQ(json("\x01"), "\"\\u0001\"");
  EXPECT_EQ(json("\xff"), "\"\xef\xbf\xbd\"");
  EXPECT_EQ(json("Größe"), "\"Größe\"");
}

}  // namespace
}  // namespace memprof::cli
