// The window with logs that are damaged, empty, malicious or incomplete, and while they are being
// read.
#include <gtest/gtest.h>

#include <QPushButton>
#include <QTest>

#include "tests/viewer/window_fixture.h"
#include "viewer/views/summary_header.h"
#include "viewer/views/timeline_view.h"
#include "viewer/views/welcome_page.h"

namespace memprof::viewer {
namespace {

using WindowTest = testing::WindowFixture;

TEST_F(WindowTest, ABrokenLogIsShownInTheWindow) {
  const QString path = WriteFile(QStringLiteral("broken.mprof"), "this is not a log");
  OpenPath(path);
  EXPECT_EQ(window_.document().state(), Document::State::kFailed);
  EXPECT_TRUE(window_.welcome()->isVisible());
  EXPECT_TRUE(window_.welcome()->Message().contains(QStringLiteral("broken.mprof")));
  EXPECT_FALSE(window_.document().error().contains(QLatin1Char('\n')));
  EXPECT_TRUE(window_.windowTitle().startsWith(QStringLiteral("broken.mprof")));
  // The next log opens normally.
  Open();
  EXPECT_TRUE(window_.timeline()->isVisible());
  EXPECT_EQ(window_.findChild<SummaryHeader*>()->BannerText(), QString());
}

TEST_F(WindowTest, ABrokenLogLeavesTheOpenOneAsItWas) {
  Open({.steps = 12});
  window_.selection().SetWindow(
      {window_.selection().bounds().begin + 1000, window_.selection().bounds().begin + 5'000'000});
  window_.selection().SetInstant(window_.selection().bounds().begin + 2000);
  const auto session = window_.document().session();
  const QString title = window_.windowTitle();
  OpenPath(WriteFile(QStringLiteral("broken.mprof"), "this is not a log"));
  EXPECT_EQ(window_.document().state(), Document::State::kReady);
  EXPECT_EQ(window_.document().session(), session);
  EXPECT_TRUE(window_.timeline()->isVisible());
  EXPECT_EQ(window_.windowTitle(), title);
  EXPECT_TRUE(window_.selection().zoomed()) << "the window is unchanged";
  EXPECT_EQ(window_.selection().instant(), window_.selection().bounds().begin + 2000);
  const auto* header = window_.findChild<SummaryHeader*>();
  EXPECT_TRUE(header->BannerText().contains(QStringLiteral("broken.mprof")))
      << header->BannerText().toStdString();
  EXPECT_EQ(header->BannerText().count(QLatin1Char('\n')), 0) << "one clear line";
  // A valid log replaces it, and the message disappears.
  Open({.steps = 4});
  EXPECT_NE(window_.document().session(), session);
  EXPECT_FALSE(window_.selection().zoomed());
  EXPECT_EQ(header->BannerText(), QString());
}

TEST_F(WindowTest, HostileLogsAreOneLineInTheWindow) {
  analysis::testing::LogBuilder log;
  testing::FillDemoLog(log, {.steps = 3});
  const std::string good = log.Bytes();
  QByteArray future(good.data(), static_cast<qsizetype>(good.size()));
  ASSERT_GT(future.size(), 16);
  const struct {
    const char* name;
    QByteArray bytes;
  } cases[] = {{"empty.mprof", ""},
               {"foreign.mprof", QByteArray("\x7f"
                                            "ELF\n\n\n") +
                                     QByteArray(4000, 'x')},
               {"header.mprof", future.left(10)},
               {"future.mprof", testing::OfVersion(future, 99)}};
  for (const auto& [name, bytes] : cases) {
    OpenPath(WriteFile(QString::fromUtf8(name), bytes));
    EXPECT_EQ(window_.document().state(), Document::State::kFailed) << name;
    EXPECT_TRUE(window_.document().error().contains(QString::fromUtf8(name))) << name;
    EXPECT_FALSE(window_.document().error().contains(QLatin1Char('\n'))) << name;
    EXPECT_TRUE(window_.welcome()->isVisible()) << name;
  }
}

TEST_F(WindowTest, LoadingCanBeGivenUp) {
  const QString path = testing::WriteDemoLog(directory_, {.steps = 30});
  window_.show();
  window_.Open(path);
  EXPECT_EQ(window_.document().state(), Document::State::kLoading);
  EXPECT_TRUE(window_.welcome()->Title().contains(QStringLiteral("demo.mprof")));
  QPushButton* cancel = nullptr;
  for (QPushButton* button : window_.welcome()->findChildren<QPushButton*>()) {
    if (button->text() == QStringLiteral("Cancel")) cancel = button;
  }
  ASSERT_NE(cancel, nullptr);
  ASSERT_TRUE(cancel->isVisible());
  QTest::mouseClick(cancel, Qt::LeftButton);
  window_.WaitUntilSettled();
  EXPECT_EQ(window_.document().state(), Document::State::kEmpty) << "its result is dropped";
  EXPECT_EQ(window_.document().session(), nullptr);
  EXPECT_EQ(window_.windowTitle(), QStringLiteral("memprof"));
  EXPECT_FALSE(cancel->isVisible());
  // Cancelling the second one keeps the first.
  OpenPath(path);
  const auto session = window_.document().session();
  window_.Open(path);
  EXPECT_EQ(window_.document().state(), Document::State::kLoading);
  QTest::mouseClick(cancel, Qt::LeftButton);
  window_.WaitUntilSettled();
  EXPECT_EQ(window_.document().state(), Document::State::kReady);
  EXPECT_EQ(window_.document().session(), session);
  EXPECT_TRUE(window_.timeline()->isVisible());
}

TEST_F(WindowTest, LoadsAgainAndListsNothingRecentWhenSettingsAreIgnored) {
  Open({.steps = 5});
  const auto session = window_.document().session();
  QTest::keyClick(&window_, Qt::Key_F5);
  window_.WaitUntilSettled();
  EXPECT_NE(window_.document().session(), session) << "F5 reads the file again";
  EXPECT_EQ(window_.document().state(), Document::State::kReady);
}

TEST_F(WindowTest, AnEmptyLogShowsEmptyViews) {
  analysis::testing::LogBuilder log;
  const QString path = directory_.filePath(QStringLiteral("empty.mprof"));
  ASSERT_TRUE(log.WriteTo(path.toStdString()).ok());
  for (const ViewKind view :
       {ViewKind::kTimeline, ViewKind::kMap, ViewKind::kLeaks, ViewKind::kFlame}) {
    OpenPath(path, view);
    EXPECT_EQ(window_.document().state(), Document::State::kReady);
    EXPECT_FALSE(window_.grab().isNull());
  }
}

TEST_F(WindowTest, LostEventsAreShownAboveTheViews) {
  analysis::testing::LogBuilder log;
  testing::FillDemoLog(log, {.steps = 3});
  log.Count("events_lost", 17);
  const QString path = directory_.filePath(QStringLiteral("lossy.mprof"));
  ASSERT_TRUE(log.WriteTo(path.toStdString()).ok());
  OpenPath(path);
  const auto* header = window_.findChild<SummaryHeader*>();
  ASSERT_NE(header, nullptr);
  EXPECT_TRUE(header->BannerText().contains(QStringLiteral("events lost: 17")))
      << header->BannerText().toStdString();
}

// Findings that need all frames resolved appear with the report, and are not reported as a loss.
TEST_F(WindowTest, FramesWithoutNamesAreShownWithTheReport) {
  analysis::testing::LogBuilder log;
  testing::FillDemoLog(log, {.steps = 3});
  log.Count("events_lost", 17);
  log::StackTrie* trie = log.definitions().mutable_trie();
  trie->add_parent(0);
  trie->add_address_delta(0x1234);
  trie->add_module(0);
  trie->add_kind(log::FRAME_NATIVE);
  const QString path = directory_.filePath(QStringLiteral("nameless.mprof"));
  ASSERT_TRUE(log.WriteTo(path.toStdString()).ok());
  OpenPath(path);
  const auto* header = window_.findChild<SummaryHeader*>();
  ASSERT_NE(header, nullptr);
  const QStringList all = header->AnomalyLines(log::Severity::kInfo);
  ASSERT_EQ(all.size(), 2);
  EXPECT_TRUE(all[1].startsWith(QStringLiteral("frames unsymbolised: 1")));
  EXPECT_EQ(header->AnomalyLines(log::Severity::kDataLoss).size(), 1);
  EXPECT_FALSE(header->BannerText().contains(QStringLiteral("unsymbolised")));
}

}  // namespace
}  // namespace memprof::viewer
