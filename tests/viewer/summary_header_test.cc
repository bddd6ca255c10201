// The line above the views: figures, devices, and the banner.
#include "viewer/views/summary_header.h"

#include <gtest/gtest.h>

#include <QComboBox>

#include "tests/viewer/panel_fixture.h"
#include "viewer/geometry/units.h"
#include "viewer/views/diff_view.h"
#include "viewer/views/link_line.h"
#include "viewer/views/timeline_stacks.h"
#include "viewer/views/timeline_view.h"
#include "viewer/window/navigation.h"
#include "viewer/window/view_table.h"

namespace memprof::viewer {
namespace {

using testing::PanelTest;

TEST_F(PanelTest, TheHeaderGivesTheReportsFigures) {
  Open({.steps = 30});
  const QString figures = header()->figures()->ShownText();
  const analysis::DeviceFigures& device = window_.document().report()->report.devices[0];
  for (const QString& part :
       {FormatBytes(device.peak_bytes) + QStringLiteral(" of 1.00 GiB"),
        FormatBytes(device.framework.peak_bytes), FormatBytes(device.live_bytes)}) {
    EXPECT_TRUE(figures.contains(part)) << qPrintable(part) << " in " << qPrintable(figures);
  }
  EXPECT_TRUE(header()->verdict()->ShownText().startsWith(QStringLiteral("1 suspected leak: ")));
  EXPECT_EQ(header()->BannerText(), QString());
}

TEST_F(PanelTest, TheHeaderChoosesTheDevice) {
  Open({.steps = 10});
  auto* devices = header()->findChild<QComboBox*>();
  ASSERT_EQ(devices->count(), 2);
  EXPECT_EQ(devices->currentText(), QStringLiteral("GPU 0  ·  Simulated GPU"));
  devices->setCurrentIndex(1);
  emit devices->activated(1);
  window_.WaitUntilSettled();
  EXPECT_EQ(window_.selection().device(), analysis::kNoDevice);
  EXPECT_EQ(window_.document().bands(window_.selection().device())->bands[0].role,
            BandRole::kPinned);
  EXPECT_FALSE(header()->figures()->Text().contains(QStringLiteral("reserved")))
      << "no figures of a GPU";
}

// Whatever the verdict says can be clicked.
TEST_F(PanelTest, ALinkOfTheVerdictLeadsToItsView) {
  Open({.steps = 30});
  const analysis::Leak leak = window_.document().report()->leaks[0].leak;
  ASSERT_TRUE(header()->verdict()->Follow(QStringLiteral("details")));
  window_.WaitUntilSettled();
  EXPECT_EQ(window_.view(), ViewKind::kLeaks);
  EXPECT_EQ(window_.selection().site(), leak.stack);
  Open({.steps = 30, .leak = false});
  window_.selection().SetInstant(0);
  ASSERT_TRUE(header()->verdict()->Follow(QStringLiteral("optimizer state")));
  EXPECT_EQ(window_.view(), ViewKind::kTimeline);
  EXPECT_EQ(window_.timeline()->stacks()->grouping(), analysis::TimelineGrouping::kCategory);
  EXPECT_EQ(window_.document().bands(0)->allocated.At(window_.selection().instant()),
            window_.document().bands(0)->allocated.max());
}

TEST_F(PanelTest, TheFiguresLeadToTheirInstantsInTheViewThatIsOpen) {
  Open({.steps = 10}, ViewKind::kMap);
  ASSERT_TRUE(header()->figures()->Follow(
      FormatBytes(window_.document().report()->report.devices[0].framework.peak_reserved_bytes)));
  EXPECT_EQ(window_.selection().instant(), window_.document().report()->reserved_most.at(0));
  EXPECT_EQ(window_.view(), ViewKind::kMap);
}

TEST_F(PanelTest, FailedRequestsAreCountedInTheListOfViews) {
  analysis::testing::LogBuilder log;
  testing::FillDemoLog(log, {.steps = 6});
  log.AllocFailed(analysis::Layer::kLinear, 32 << 20, {.aux1 = 600 << 20, .result = 2});
  OpenLog(log);
  const int view = ViewIndex(ViewKind::kFragmentation);
  EXPECT_EQ(window_.navigation()->TitleOf(view), QStringLiteral("Holes and OOM (1)"));
  Open({.steps = 6});
  EXPECT_EQ(window_.navigation()->TitleOf(view), QStringLiteral("Holes and OOM"));
}

// While the jobs run, the header says what it waits for.
TEST_F(PanelTest, TheVerdictIsNeverBlank) {
  testing::WriteDemoLog(directory_, {.steps = 10});
  window_.resize(1200, 760);
  window_.show();
  window_.Open(directory_.filePath(QStringLiteral("demo.mprof")));
  QString while_waiting;
  QObject::connect(&window_.document(), &Document::TimelinesReady, header(),
                   [&] { while_waiting = header()->verdict()->Text(); });
  window_.WaitUntilSettled();
  EXPECT_TRUE(while_waiting.startsWith(QStringLiteral("Looking for"))) << qPrintable(while_waiting);
}

// As in a snapshot without segments: memory in use is known and shown.
TEST_F(PanelTest, BlocksWithoutSegmentsAreShown) {
  analysis::testing::LogBuilder log;
  log.Device(0, 1 << 30);
  const int stack = log.Stack({"main (train.py:1)", "Forward (model.py:7)"});
  log.AdvanceTime(1'000'000);
  log.Alloc(analysis::Layer::kBlock, 0x10000, 3 << 20, {.stack = stack});
  log.AdvanceTime(1'000'000);
  log.Free(analysis::Layer::kBlock, 0x10000);
  log.AdvanceTime(1'000'000);
  log.RangePush("end");
  OpenLog(log);
  const QString texts = header()->figures()->Text();
  EXPECT_TRUE(texts.contains(QStringLiteral("Peak in use"))) << qPrintable(texts);
  EXPECT_TRUE(texts.contains(QStringLiteral("3.00 MiB"))) << qPrintable(texts);
  EXPECT_FALSE(texts.contains(QStringLiteral("reserved"))) << qPrintable(texts);
  const TimelineBands* bands = window_.document().bands(0);
  ASSERT_NE(bands, nullptr);
  EXPECT_EQ(bands->in_use.At(window_.selection().instant()), 3u << 20) << "opened at its peak";
  ASSERT_EQ(bands->bands.size(), 1u);
  EXPECT_EQ(bands->bands[0].role, BandRole::kBlocks);
}

TEST_F(PanelTest, ManyArgumentsAreNotShown) {
  analysis::RunInfo run;
  run.executable = "/bin/x";
  run.arguments.assign(300'000, "argument");
  EXPECT_LT(ProgramName(run).size(), 1100);
  EXPECT_TRUE(ProgramName(run).endsWith(QStringLiteral("…")));
}

// Two runs, one after another, in one folder: reported, and offered as a comparison.
TEST_F(PanelTest, TwoRunsInOneFolderAreShownAsTwo) {
  QStringList paths;
  for (int i = 0; i < 2; ++i) {
    analysis::testing::LogBuilder log;
    const std::uint64_t start = 1'000'000'000ull * static_cast<std::uint64_t>(1 + 60 * i);
    log.SetTime(start);
    log.header().set_start_time_ns(start);
    log.header().set_start_unix_ns(1'700'000'000'000'000'000 + start);
    testing::FillDemoLog(log, {.steps = 30, .leak = i == 1});
    log.header().set_pid(static_cast<std::uint32_t>(100 + i));
    paths << directory_.filePath(QStringLiteral("run%1.mprof").arg(i));
    ASSERT_TRUE(log.WriteTo(paths.back().toStdString()).ok());
  }
  window_.show();
  window_.OpenTogether(paths);
  window_.WaitUntilSettled();
  const QString banner = header()->BannerText();
  EXPECT_TRUE(banner.contains(QStringLiteral("of 2 runs"))) << qPrintable(banner);
  EXPECT_TRUE(Texts(header()).contains(QStringLiteral("Open as a comparison")));
  EXPECT_TRUE(
      header()->verdict()->Text().startsWith(QStringLiteral("1 suspected leak in process 2")));
  header()->Compare();
  window_.WaitUntilSettled();
  EXPECT_EQ(window_.document().paths(), QStringList{paths[1]});
  EXPECT_EQ(window_.view(), ViewKind::kDiff);
  const auto* diff = static_cast<DiffView*>(window_.page(ViewKind::kDiff));
  EXPECT_TRUE(diff->Verdict().contains(QStringLiteral("Before: run0.mprof")))
      << qPrintable(diff->Verdict());
  EXPECT_EQ(header()->BannerText(), QString()) << "one run is open now";
}

TEST_F(PanelTest, SeveralProcessesAreCounted) {
  QStringList paths;
  for (int i = 0; i < 2; ++i) {
    analysis::testing::LogBuilder log;
    testing::FillDemoLog(log, {.steps = 10});
    log.header().set_pid(static_cast<std::uint32_t>(100 + i));
    paths << directory_.filePath(QStringLiteral("r%1.mprof").arg(i));
    ASSERT_TRUE(log.WriteTo(paths.back().toStdString()).ok());
  }
  window_.show();
  window_.OpenTogether(paths);
  window_.WaitUntilSettled();
  bool said = false;
  for (const QWidget* part : header()->findChildren<QWidget*>())
    said |= part->toolTip().startsWith(QStringLiteral("2 processes of "));
  EXPECT_TRUE(said);
}

TEST_F(PanelTest, ACutLogIsShownInTheBanner) {
  analysis::testing::LogBuilder log;
  testing::FillDemoLog(log, {.steps = 10});
  const QString path = directory_.filePath(QStringLiteral("cut.mprof"));
  ASSERT_TRUE(log.WriteTo(path.toStdString(), {.trailer = false, .index = false}).ok());
  OpenPath(path);
  EXPECT_TRUE(header()->BannerText().contains(QStringLiteral("was not closed")))
      << qPrintable(header()->BannerText());
}

TEST_F(PanelTest, OneBrokenLogAmongManyIsLeftOutAndSaid) {
  ASSERT_FALSE(testing::WriteDemoLog(directory_, {.steps = 10}).isEmpty());
  WriteFile(QStringLiteral("a.mprof"), QByteArray("no log at all"));
  WriteFile(QStringLiteral("z.mprof"), {});
  OpenPath(directory_.path());
  ASSERT_EQ(window_.document().state(), Document::State::kReady);
  EXPECT_EQ(window_.document().session()->steps().size(), 10u);
  EXPECT_EQ(window_.document().left_out().size(), 2);
  for (const char* name : {"a.mprof", "z.mprof"})
    EXPECT_TRUE(header()->BannerText().contains(QString::fromUtf8(name)))
        << qPrintable(header()->BannerText());
}

TEST(ProgramName, IsWhatAPersonWouldSay) {
  analysis::RunInfo run;
  EXPECT_EQ(ProgramName(run), QStringLiteral("unknown program"));
  run.executable = "/usr/bin/python3.11";
  run.arguments = {"python3", "train.py", "--lr", "1"};
  EXPECT_EQ(ProgramName(run), QStringLiteral("python3.11 train.py --lr 1"));
}

}  // namespace
}  // namespace memprof::viewer
