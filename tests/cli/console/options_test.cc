// The option table: what it accepts and refuses, and its suggestions.
#include "cli/console/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Parsed {
  bool flag = false;
  std::string text = "default", choice = "a";
  std::int64_t number = 7;
  std::vector<std::string> list, arguments;
  absl::Status status;
  std::string help;
};

Parsed Parse(std::vector<std::string> arguments) {
  Parsed parsed;
  Options options("verb LOG", "Does things.");
  options.Flag("flag", &parsed.flag, "A flag.");
  options.Text("text", &parsed.text, "TEXT", "Some text.", 't');
  options.Choice("choice", &parsed.choice, {"a", "b"}, "One of two.");
  options.Integer("number", &parsed.number, "N", "A number.");
  options.List("item", &parsed.list, "ITEM", "Any number of these.");
  options.Example("memprof verb x", "An example.");
  arguments.insert(arguments.begin(), "verb");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  parsed.status = options.Parse(static_cast<int>(argv.size()), argv.data());
  parsed.arguments = options.arguments();
  parsed.help = options.help() ? options.HelpText() : "";
  return parsed;
}

TEST(OptionsTest, TakesAllForms) {
  const Parsed parsed = Parse({"--flag", "--text=x=y", "one", "--number", "-12", "--choice=b",
                               "--item=1", "--item", "2", "--", "--two", "-"});
  ASSERT_TRUE(parsed.status.ok()) << parsed.status;
  EXPECT_TRUE(parsed.flag);
  EXPECT_EQ(parsed.text, "x=y");
  EXPECT_EQ(parsed.number, -12);
  EXPECT_EQ(parsed.choice, "b");
  EXPECT_THAT(parsed.list, ElementsAre("1", "2"));
  EXPECT_THAT(parsed.arguments, ElementsAre("one", "--two", "-"));
  EXPECT_EQ(Parse({"-t", "x"}).text, "x");
  EXPECT_EQ(Parse({"-tx"}).text, "x");
  EXPECT_EQ(Parse({"--text="}).text, "");
}

TEST(OptionsTest, RefusesWithAReason) {
  const auto message = [](std::vector<std::string> arguments) {
    const Parsed parsed = Parse(std::move(arguments));
    EXPECT_EQ(parsed.status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(parsed.status.message().data(), parsed.status.message().size());
  };
  EXPECT_THAT(message({"--flg"}), HasSubstr("did you mean '--flag'?"));
  EXPECT_THAT(message({"--txet=1"}), HasSubstr("did you mean '--text'?"));
  EXPECT_THAT(message({"--quite-different"}), Not(HasSubstr("did you mean")));
  EXPECT_THAT(message({"-x"}), HasSubstr("unknown option '-x'"));
  EXPECT_THAT(message({"--t=1"}), HasSubstr("unknown option '--t'"));
  EXPECT_THAT(message({"--flag=1"}), HasSubstr("takes no value"));
  EXPECT_THAT(message({"--number=1x"}), HasSubstr("takes an integer, not '1x'"));
  EXPECT_THAT(message({"--number=99999999999999999999"}), HasSubstr("takes an integer"));
  EXPECT_THAT(message({"--choice=c"}), HasSubstr("takes one of a, b, not 'c'"));
  EXPECT_THAT(message({"--text"}), HasSubstr("needs a value"));
}

TEST(OptionsTest, HelpNamesEverything) {
  const std::string help = Parse({"--help"}).help;
  for (const char* part : {"Usage: memprof verb LOG", "Does things.", "-t, --text=TEXT",
                           "--choice=a|b", "Any number of these.", "memprof verb x"}) {
    EXPECT_THAT(help, HasSubstr(part));
  }
}

TEST(OptionsTest, NearestIsNearEnough) {
  const std::vector<std::string> names = {"report", "leaks", "run"};
  EXPECT_EQ(Nearest("reprot", names), "report");
  EXPECT_EQ(Nearest("leak", names), "leaks");
  EXPECT_EQ(Nearest("x", names), std::nullopt);
  EXPECT_EQ(Nearest("", names), std::nullopt);
  EXPECT_EQ(Nearest("fragment", names), std::nullopt);
}

}  // namespace
}  // namespace memprof::cli
