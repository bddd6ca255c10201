// The command line of memprof-viewer.
#include "viewer/window/options.h"

#include <gtest/gtest.h>

namespace memprof::viewer {
namespace {

ParsedOptions Parse(const char* line) {
  return ParseOptions(QString::fromUtf8(line).split(QLatin1Char(' '), Qt::SkipEmptyParts));
}

TEST(Options, LogsAndDefaults) {
  const auto [options, error] = Parse("a.mprof b.mprof");
  EXPECT_TRUE(error.isEmpty());
  EXPECT_EQ(options.logs.size(), 2);
  EXPECT_TRUE(options.screenshot.isEmpty());
  EXPECT_EQ(options.size, QSize(1280, 800));
  EXPECT_FALSE(options.theme.has_value()) << "the one that the user chose";
  EXPECT_TRUE(Parse("").error.isEmpty()) << "a window without a log";
}

TEST(Options, Screenshot) {
  const auto [options, error] =
      Parse("--screenshot x.png --view=map --size 640x480 --scale 2 --theme dark a.mprof");
  EXPECT_TRUE(error.isEmpty()) << error.toStdString();
  EXPECT_EQ(options.screenshot, QStringLiteral("x.png"));
  EXPECT_EQ(options.view, ViewKind::kMap);
  EXPECT_EQ(options.size, QSize(640, 480));
  EXPECT_EQ(options.scale, 2);
  EXPECT_EQ(options.theme, ThemeChoice::kDark);
  EXPECT_EQ(Parse("-- --odd.mprof").options.logs.front(), QStringLiteral("--odd.mprof"));
}

TEST(Options, EveryChoiceIsTaken) {
  const std::pair<const char*, ViewKind> views[] = {{"timeline", ViewKind::kTimeline},
                                                    {"map", ViewKind::kMap},
                                                    {"leaks", ViewKind::kLeaks},
                                                    {"flame", ViewKind::kFlame}};
  for (const auto& [name, view] : views) {
    EXPECT_EQ(
        Parse(qPrintable(QStringLiteral("--view %1 a").arg(QString::fromUtf8(name)))).options.view,
        view);
  }
  EXPECT_EQ(Parse("--view fleet a").options.view, ViewKind::kFleet);
  EXPECT_FALSE(Parse("a").options.view.has_value()) << "the view that was last shown";
  EXPECT_EQ(Parse("--axis steps a").options.axis, AxisKind::kSteps);
  EXPECT_EQ(Parse("--axis=time a").options.axis, AxisKind::kTime);
  EXPECT_EQ(Parse("a").options.axis, std::nullopt) << "as it was saved";
  EXPECT_EQ(Parse("--diff before.mprof a").options.diff, QStringLiteral("before.mprof"));
  EXPECT_TRUE(Parse("--separate a b").options.separate);
  EXPECT_FALSE(Parse("a b").options.separate);
  EXPECT_TRUE(Parse("--caption a").options.caption);
  EXPECT_FALSE(Parse("a").options.caption) << "pictures of documents have none";
  EXPECT_EQ(Parse("--theme light a").options.theme, ThemeChoice::kLight);
  EXPECT_EQ(Parse("--theme system a").options.theme, ThemeChoice::kSystem);
  EXPECT_EQ(Parse("--size 320x240 a").options.size, QSize(320, 240)) << "the minimum";
  EXPECT_EQ(Parse("--size 16384x16384 a").options.size, QSize(16384, 16384)) << "the maximum";
  EXPECT_EQ(Parse("--scale 0.5 a").options.scale, 0.5);
  EXPECT_EQ(Parse("--scale 4 a").options.scale, 4);
  EXPECT_TRUE(Parse("--version").options.version);
  EXPECT_TRUE(Parse("--screenshot x.png --help").error.isEmpty()) << "help needs no log";
}

TEST(Options, WrongUsageIsNamed) {
  const struct {
    const char* line;
    const char* says;
  } cases[] = {
      {"--view nothing a.mprof", "unknown view 'nothing'"},
      {"--view", "--view needs a value"},
      {"--colour red", "unknown option '--colour'"},
      {"--size 10 a", "--size takes"},
      {"--size 10x20 a", "--size takes"},
      {"--size axb a", "--size takes"},
      {"--scale 9 a", "--scale takes"},
      {"--scale nan a", "--scale takes"},
      {"--theme pink a", "--theme takes"},
      {"--axis bytes a", "--axis takes"},
      {"--axis", "--axis needs a value"},
      {"--size 10x a", "--size takes"},
      {"--size 99999x800 a", "--size takes"},
      {"--scale 0.4 a", "--scale takes"},
      {"--version=2", "unknown option '--version'"},
      {"--screenshot x.png", "needs a log"},
      {"--screenshot=", "needs a file name"},
      {"--diff= a", "needs the log to compare with"},
      {"--diff b", "needs the other log"},
  };
  for (const auto& [line, says] : cases) {
    const QString error = Parse(line).error;
    EXPECT_TRUE(error.contains(QString::fromUtf8(says))) << line << ": " << error.toStdString();
    EXPECT_FALSE(error.contains(QLatin1Char('\n')));
  }
}

TEST(Options, HelpNamesEveryOption) {
  for (const char* option :
       {"--view", "--axis", "--theme", "--screenshot", "--size", "--scale", "--help", "--diff",
        "--separate", "--caption", "fleet", "ssh://", "#view="}) {
    EXPECT_TRUE(HelpText().contains(QString::fromUtf8(option))) << option;
  }
  EXPECT_TRUE(Parse("--help").options.help);
}

}  // namespace
}  // namespace memprof::viewer
