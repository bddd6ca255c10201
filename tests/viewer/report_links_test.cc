// The links that memprof's reports end with: the viewer reads them, and finds what they mean.
#include <gtest/gtest.h>

#include "analysis/leaks/leaks.h"
#include "analysis/testing/log_builder.h"
#include "cli/shared/viewer_link.h"
#include "tests/viewer/demo_log.h"
#include "tests/viewer/link_session.h"
#include "viewer/geometry/units.h"
#include "viewer/models/link_target.h"

namespace memprof::viewer {
namespace {

Link ReadWhole(const std::string& text) {
  QStringList problems;
  const Link link = ParseLink(ToQString(text), &problems);
  EXPECT_TRUE(problems.isEmpty()) << text << ": " << problems.join(u'\n').toStdString();
  return link;
}

TEST(ReportLinks, LeadToTheLeak) {
  QTemporaryDir folder;
  const LinkSession in =
      testing::LoadForLinks(testing::WriteDemoLog(folder, {.steps = 12}).toStdString());
  const auto report = analysis::FindLeaks(*in.session, {});
  ASSERT_FALSE(report.leaks.empty());
  const analysis::StackId stack = report.leaks.front().stack;
  const Link link = ReadWhole(cli::LinkToLeak(*in.symbols, stack));
  EXPECT_EQ(link.view, QStringLiteral("leaks"));
  EXPECT_EQ(FindTarget(in, link, 0, {}).site, stack);
  EXPECT_TRUE(FindTarget(in, link, 0, {}).problems.isEmpty());
}

TEST(ReportLinks, LeadToTheFailure) {
  QTemporaryDir folder;
  const LinkSession in =
      testing::LoadForLinks(testing::WriteDemoLog(folder, {.steps = 3}).toStdString());
  const LinkTarget target =
      FindTarget(in, ReadWhole(cli::LinkToFailure(0, analysis::EventId(7))), 0, {});
  EXPECT_EQ(target.instant, in.session->events().time(7));
  EXPECT_EQ(target.device, 0);
  EXPECT_EQ(ReadWhole(cli::LinkToFailure(analysis::kNoDevice, analysis::EventId(0))).device,
            analysis::kNoDevice);
}

// Names in a log are input of strangers, and the link becomes part of a shell's command.
TEST(ReportLinks, WhateverTheLogCallsItsFiles) {
  analysis::testing::LogBuilder log;
  const std::vector<std::string> frames = {
      "F (a'; rm x;'.cc:3)", "F (a&view=map.cc:3)",  "F (a\n.cc:3)",
      "F (\xff\xfe.cc:3)",   "F (a#b.cc:3)",         "F (" + std::string(5000, 'x') + ".cc:3)",
      "F (ä.cc:3)",          "\x1b[2J (plain.cc:3)", "F (dir/plain.cc:4)"};
  std::uint64_t address = 0x7f0000000000;
  for (const std::string& frame : frames)
    log.Alloc(analysis::Layer::kLinear, address += 4096, 4096, {.stack = log.Stack({frame})});
  QTemporaryDir folder;
  const std::string path = folder.filePath(QStringLiteral("odd.mprof")).toStdString();
  ASSERT_TRUE(log.WriteTo(path).ok());
  const LinkSession in = testing::LoadForLinks(path);
  ASSERT_EQ(in.session->records().size(), frames.size());
  for (const analysis::AllocationRecord& record : in.session->records()) {
    const std::string text = cli::LinkToLeak(*in.symbols, record.stack);
    EXPECT_LE(text.size(), 100u);
    EXPECT_EQ(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789=&:.-_"),
              std::string::npos)
        << text;
    EXPECT_EQ(FindTarget(in, ReadWhole(text), 0, {}).site, record.stack) << text;
  }
  EXPECT_TRUE(cli::LinkToLeak(*in.symbols, in.session->records().back().stack)
                  .starts_with("view=leaks&site=plain.cc:4&stack="));
}

TEST(ReportLinks, AreQuotedAsTheViewerQuotes) {
  const std::vector<std::string> cases[] = {
      {"train.mprof"}, {"/a b.mprof", "-it's.mprof"}, {"''"}, {"$(x)`y`\\", "ä#b=c"}};
  for (const std::vector<std::string>& names : cases) {
    QStringList logs;
    for (const std::string& name : names) logs << ToQString(name);
    EXPECT_EQ(ToQString(cli::ViewerCommand(names, "view=map&step=3")),
              LinkCommand(logs, QStringLiteral("view=map&step=3")));
  }
}

}  // namespace
}  // namespace memprof::viewer
