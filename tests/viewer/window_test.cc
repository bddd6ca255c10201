// A real window on a real log: what is drawn, and that the views share one selection.
#include <gtest/gtest.h>

#include <QApplication>
#include <QDialog>
#include <QDragEnterEvent>
#include <QFile>
#include <QLineEdit>
#include <QMenuBar>
#include <QMimeData>
#include <QPushButton>
#include <QScreen>
#include <QSettings>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>
#include <QTreeView>

#include "tests/viewer/window_fixture.h"
#include "viewer/views/flame_view.h"
#include "viewer/views/leak_view.h"
#include "viewer/views/map_view.h"
#include "viewer/views/overview_strip.h"
#include "viewer/views/summary_header.h"
#include "viewer/views/survivor_chart.h"
#include "viewer/views/timeline_view.h"
#include "viewer/views/welcome_page.h"
#include "viewer/window/help_dialog.h"
#include "viewer/window/main_window.h"
#include "viewer/window/view_table.h"

namespace memprof::viewer {
namespace {

using WindowTest = testing::WindowFixture;
using testing::Colors;
using testing::Count;

TEST_F(WindowTest, WelcomesWithoutALog) {
  window_.show();
  EXPECT_TRUE(window_.welcome()->isVisible());
  EXPECT_FALSE(window_.timeline()->isVisible());
  EXPECT_TRUE(window_.welcome()->Message().contains(QStringLiteral("memprof run")));
}

TEST_F(WindowTest, IsNoLargerThanTheScreen) {
  const QSize room = window_.screen()->availableSize();
  EXPECT_LE(window_.width(), room.width());
  EXPECT_LT(window_.height(), room.height()) << "with its title";
}

TEST_F(WindowTest, BeginsWithTheTimelineWhateverWasSeenLast) {
  ASSERT_TRUE(directory_.isValid());
  QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, directory_.path());
  for (int i = 0; i < 2; ++i) {
    MainWindow window(MainWindow::Settings::kKept);
    EXPECT_EQ(window.view(), ViewKind::kTimeline);
    window.ShowView(ViewKind::kLeaks);
    window.show();
    window.close();
    ASSERT_TRUE(QFile::exists(QSettings().fileName())) << "settings were kept";
  }
}

TEST_F(WindowTest, OpensAtThePeak) {
  Open();
  EXPECT_TRUE(window_.timeline()->isVisible());
  const TimelineBands* bands = window_.document().bands(0);
  ASSERT_NE(bands, nullptr);
  EXPECT_TRUE(bands->framework);
  EXPECT_EQ(window_.selection().instant(), bands->in_use.time_of_max());
  ASSERT_NE(window_.document().report(), nullptr);
  ASSERT_EQ(window_.document().report()->leaks.size(), 1u);
  EXPECT_EQ(window_.document().report()->leaks[0].site.function, testing::kLeakFunction);
}

TEST_F(WindowTest, TimelineIsAsHighAsThePeak) {
  testing::DemoOptions options;
  options.framework = false;
  Open(options);
  TimelineView* timeline = window_.timeline();
  const QImage image = timeline->grab().toImage();
  const QRectF plot = timeline->PlotRect();
  const Theme theme = Theme::From(timeline->palette());
  const TimelineBands& bands = *window_.document().bands(0);
  ASSERT_EQ(bands.top.max(), 24ull << 20);
  // The column of the peak is filled up to the peak's height, and not above.
  const double x = timeline->Scale().X(bands.top.time_of_max()) + 2;
  const ByteScale scale{timeline->AxisMax(), plot.bottom(), plot.height()};
  const int top = static_cast<int>(scale.Y(static_cast<double>(bands.top.max())));
  int first = -1;
  for (int y = static_cast<int>(plot.top()) + 40; y < plot.bottom() && first < 0; ++y) {
    if (image.pixelColor(static_cast<int>(x), y) == theme.Band(BandRole::kStreamOrdered)) first = y;
  }
  EXPECT_NEAR(first, top, 8);
  EXPECT_GT(Count(image, plot.toRect(), theme.Band(BandRole::kLinear)), 1000);
}

TEST_F(WindowTest, EveryViewDrawsSomething) {
  Open();
  for (const ViewKind view :
       {ViewKind::kTimeline, ViewKind::kMap, ViewKind::kLeaks, ViewKind::kFlame}) {
    window_.ShowView(view);
    window_.WaitUntilSettled();
    const QImage image = window_.grab().toImage();
    EXPECT_GT(Colors(image), 20) << "view " << static_cast<int>(view);
  }
}

TEST_F(WindowTest, WheelZoomsAtTheMouseAndBackUndoes) {
  Open();
  TimelineView* timeline = window_.timeline();
  const QPointF at = timeline->PlotRect().center();
  const analysis::TimeNs under = timeline->Scale().At(at.x());
  const analysis::TimeWindow before = window_.selection().window();
  testing::Wheel(timeline, at, {0, 240});
  const analysis::TimeWindow after = window_.selection().window();
  EXPECT_LT(after.end - after.begin, before.end - before.begin);
  EXPECT_NEAR(timeline->Scale().X(under), at.x(), 2);
  EXPECT_TRUE(window_.selection().can_back());
  QTest::keyClick(&window_, Qt::Key_Left, Qt::AltModifier);
  EXPECT_EQ(window_.selection().window().end, before.end);
  EXPECT_EQ(window_.selection().window().begin, before.begin);
}

TEST_F(WindowTest, DragBrushesAndClickChoosesTheInstant) {
  Open();
  TimelineView* timeline = window_.timeline();
  const QRect plot = timeline->PlotRect().toRect();
  const QPoint from(plot.left() + 100, plot.center().y()), to(plot.left() + 300, plot.center().y());
  const analysis::TimeNs begin = timeline->Scale().At(from.x()), end = timeline->Scale().At(to.x());
  QTest::mousePress(timeline, Qt::LeftButton, {}, from);
  QTest::mouseMove(timeline, to);
  QTest::mouseRelease(timeline, Qt::LeftButton, {}, to);
  EXPECT_EQ(window_.selection().window().begin, begin);
  EXPECT_EQ(window_.selection().window().end, end);
  QSignalSpy instants(&window_.selection(), &Selection::InstantChanged);
  const analysis::TimeNs clicked = timeline->Scale().At(plot.center().x());
  QTest::mouseClick(timeline, Qt::LeftButton, {}, plot.center());
  EXPECT_EQ(window_.selection().instant(), clicked);
  EXPECT_EQ(instants.count(), 1);
  QTest::mouseDClick(timeline, Qt::LeftButton, {}, plot.center());
  EXPECT_FALSE(window_.selection().zoomed());
}

TEST_F(WindowTest, ABlockChosenInTheMapIsFoundInTheLeaks) {
  Open({}, ViewKind::kMap);
  MapCanvas* canvas = window_.map()->canvas();
  ASSERT_NE(canvas->picture(), nullptr);
  const analysis::StackId leak = window_.document().report()->leaks[0].leak.stack;
  // A block that the leaky site made, on the map at the peak.
  std::optional<QRectF> rect;
  analysis::AllocationId block;
  const auto& segments = canvas->picture()->map.segments;
  for (std::size_t s = 0; s < segments.size() && !rect.has_value(); ++s) {
    for (std::size_t p = 0; p < segments[s].pieces.size() && !rect.has_value(); ++p) {
      block = segments[s].pieces[p].allocation;
      if (MapPicture::SiteOf(*window_.document().session(), block) != leak) continue;
      rect = canvas->RectOf({static_cast<int>(s), static_cast<int>(p)});
    }
  }
  ASSERT_TRUE(rect.has_value());
  QTest::mouseClick(canvas, Qt::LeftButton, {}, rect->center().toPoint());
  EXPECT_EQ(window_.selection().allocation(), block);
  EXPECT_EQ(window_.selection().site(), leak);
  const LeakRow* row = window_.leaks()->model().leak(window_.leaks()->table()->currentIndex());
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->leak.stack, leak);
  window_.WaitUntilSettled();
  EXPECT_EQ(window_.selection().allocation(), block) << "the leak view followed, it did not choose";
}

TEST_F(WindowTest, ALeakChosenIsSelectedElsewhere) {
  Open({}, ViewKind::kLeaks);
  QTreeView* table = window_.leaks()->table();
  EXPECT_FALSE(window_.selection().site().valid()) << "nothing is selected before anyone chose";
  const QModelIndex alive = table->model()->index(1, 0);
  table->setCurrentIndex(table->model()->index(0, 0, alive));
  EXPECT_TRUE(window_.selection().site().valid());
  EXPECT_TRUE(window_.selection().allocation().valid());
  table->setCurrentIndex(table->model()->index(0, 0, table->model()->index(0, 0)));
  EXPECT_EQ(window_.selection().site(), window_.document().report()->leaks[0].leak.stack);
  EXPECT_TRUE(window_.leaks()->EvidenceText().contains(QStringLiteral("disprove")));
  const QImage chart = window_.leaks()->chart()->grab().toImage();
  const Theme theme = Theme::From(window_.palette());
  EXPECT_GT(Count(chart, window_.leaks()->chart()->PlotRect().toRect(), theme.Categorical(5)), 500);
}

TEST_F(WindowTest, MapSumsAgreeWithTheTimeline) {
  Open({}, ViewKind::kMap);
  const MapPicture* picture = window_.map()->canvas()->picture();
  ASSERT_NE(picture, nullptr);
  const TimelineBands& bands = *window_.document().bands(0);
  EXPECT_EQ(picture->map.reserved_bytes, bands.allocated.At(window_.selection().instant()));
  EXPECT_TRUE(window_.map()->SummaryText().contains(QStringLiteral("largest hole")));
  // Another instant, another map.
  window_.selection().SetInstant(window_.selection().bounds().begin + 20'000'000);
  window_.WaitUntilSettled();
  EXPECT_NE(window_.map()->canvas()->picture(), picture);
  EXPECT_LT(window_.map()->canvas()->picture()->map.reserved_bytes, bands.allocated.max());
}

TEST_F(WindowTest, FlameGraphZoomsSearchesAndGoesBack) {
  Open({}, ViewKind::kFlame);
  FlameCanvas* canvas = window_.flame()->canvas();
  ASSERT_NE(canvas->tree(), nullptr);
  EXPECT_EQ(canvas->tree()->nodes[0].bytes,
            window_.document().bands(0)->in_use.At(window_.selection().instant()));
  const FlameLayout layout = canvas->Layout();
  const FlameBox deep = layout.boxes.back();
  const QString function = FlamePath(*canvas->tree(), deep.node).last();
  QTest::mouseClick(canvas, Qt::LeftButton, {}, deep.rect.center().toPoint());
  EXPECT_EQ(window_.selection().flame_path().last(), function);
  EXPECT_NEAR(canvas->Layout().boxes.back().rect.width(), canvas->width(), 1);
  QTest::keyClick(&window_, Qt::Key_Left, Qt::AltModifier);
  EXPECT_TRUE(window_.selection().flame_path().isEmpty());
  window_.flame()->search()->setText(QStringLiteral("losshistory"));
  EXPECT_GT(canvas->matched(), 0.05);
  EXPECT_LT(canvas->matched(), 0.5);
  EXPECT_TRUE(canvas->NodeText(deep.node).contains(function));
  window_.flame()->search()->clear();
  window_.flame()->SetBottomUp(true);
  window_.flame()->SetChoice(FlameView::Choice::kCountInWindow);
  window_.WaitUntilSettled();
  ASSERT_NE(canvas->tree(), nullptr);
  EXPECT_NE(canvas->tree()->nodes[1].function, "main") << "leaves come first, bottom-up";
}

TEST_F(WindowTest, KeysMoveBetweenViews) {
  Open();
  const auto key = [](ViewKind view) { return static_cast<Qt::Key>(Qt::Key_1 + ViewIndex(view)); };
  QTest::keyClick(&window_, key(ViewKind::kLeaks), Qt::ControlModifier);
  EXPECT_EQ(window_.view(), ViewKind::kLeaks);
  QTest::keyClick(&window_, key(ViewKind::kFlame), Qt::ControlModifier);
  EXPECT_EQ(window_.view(), ViewKind::kFlame);
  QTest::keyClick(&window_, Qt::Key_F, Qt::ControlModifier);
  EXPECT_EQ(window_.view(), ViewKind::kFlame) << "which has a search of its own";
  EXPECT_TRUE(HelpHtml().contains(QStringLiteral("Ctrl+F")));
  QTest::keyClick(&window_, Qt::Key_1, Qt::ControlModifier);
  window_.selection().SetInstant(0);
  QTest::keyClick(&window_, Qt::Key_P);
  EXPECT_EQ(window_.selection().instant(), window_.document().bands(0)->in_use.time_of_max());
}

TEST_F(WindowTest, ABrokenLogIsToldInTheWindow) {
  const QString path = WriteFile(QStringLiteral("broken.mprof"), "this is not a log");
  OpenPath(path);
  EXPECT_EQ(window_.document().state(), Document::State::kFailed);
  EXPECT_TRUE(window_.welcome()->isVisible());
  EXPECT_TRUE(window_.welcome()->Message().contains(QStringLiteral("broken.mprof")));
  EXPECT_FALSE(window_.document().error().contains(QLatin1Char('\n')));
  EXPECT_TRUE(window_.windowTitle().startsWith(QStringLiteral("broken.mprof")));
  // And the next log opens as if nothing had been.
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
  EXPECT_TRUE(window_.selection().zoomed()) << "the window is where it was";
  EXPECT_EQ(window_.selection().instant(), window_.selection().bounds().begin + 2000);
  const auto* header = window_.findChild<SummaryHeader*>();
  EXPECT_TRUE(header->BannerText().contains(QStringLiteral("broken.mprof")))
      << header->BannerText().toStdString();
  EXPECT_EQ(header->BannerText().count(QLatin1Char('\n')), 0) << "one clear line";
  // A good one replaces it, and the line goes.
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
  // Giving up the second leaves the first.
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

TEST_F(WindowTest, HelpOpensOnF1AndTellsAboutSeveralLogs) {
  Open({.steps = 3});
  QTest::keyClick(&window_, Qt::Key_F1);
  const auto* dialog = window_.findChild<QDialog*>();
  ASSERT_NE(dialog, nullptr);
  EXPECT_TRUE(dialog->isVisible());
  const QString text = dialog->findChild<QTextBrowser*>()->toPlainText();
  for (const char* phrase :
       {"Ctrl+F", "a window for each log", "training steps", "named range", "largest hole"}) {
    EXPECT_TRUE(text.contains(QString::fromUtf8(phrase))) << phrase;
  }
}

TEST_F(WindowTest, EveryViewIsDrawnInTheTheme) {
  const QString path = testing::WriteDemoLog(directory_, {.steps = 8});
  const QPalette before = QApplication::palette();
  for (const bool dark : {true, false}) {
    QApplication::setPalette(MakePalette(dark));
    MainWindow window(MainWindow::Settings::kIgnored);
    window.resize(1000, 700);
    window.show();
    window.Open(path);
    for (const ViewKind view :
         {ViewKind::kTimeline, ViewKind::kMap, ViewKind::kLeaks, ViewKind::kFlame}) {
      window.ShowView(view);
      window.WaitUntilSettled();
      const QImage image = testing::Grab(&window);
      // Corners of the header, the menu bar and the overview: nothing but background.
      for (const QPoint& at : {QPoint(3, 60), QPoint(900, 8), QPoint(3, image.height() - 20)}) {
        EXPECT_EQ(image.pixelColor(at).lightness() < 80, dark)
            << "view " << static_cast<int>(view) << " at " << at.x() << ", " << at.y();
      }
    }
  }
  QApplication::setPalette(before);
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

TEST_F(WindowTest, LostEventsAreToldAboveTheViews) {
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

// What shows only once every frame was looked up is told with the report, and not as a loss.
TEST_F(WindowTest, FramesWithoutNamesAreToldWithTheReport) {
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

TEST_F(WindowTest, DropsAndExports) {
  ASSERT_TRUE(directory_.isValid());
  const QString path = testing::WriteDemoLog(directory_, {.steps = 5});
  window_.show();
  QMimeData mime;
  mime.setUrls({QUrl::fromLocalFile(path)});
  QDragEnterEvent enter({10, 10}, Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(&window_, &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(10, 10), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(&window_, &drop);
  window_.WaitUntilSettled();
  EXPECT_EQ(window_.document().state(), Document::State::kReady);
  const QString picture = directory_.filePath(QStringLiteral("view.png"));
  EXPECT_EQ(window_.Export(picture), QString());
  EXPECT_FALSE(QImage(picture).isNull());
  EXPECT_TRUE(window_.Export(QStringLiteral("/nowhere/at/all.png"))
                  .contains(QStringLiteral("cannot be written")));
}

TEST_F(WindowTest, OverviewMovesTheInstantAndTheWindow) {
  Open();
  auto* strip = window_.findChild<OverviewStrip*>();
  ASSERT_NE(strip, nullptr);
  const QRect plot = strip->PlotRect().toRect();
  const analysis::TimeWindow bounds = window_.selection().bounds();
  QTest::mouseClick(strip, Qt::LeftButton, {}, plot.center());
  EXPECT_NEAR(static_cast<double>(window_.selection().instant() - bounds.begin),
              static_cast<double>(bounds.end - bounds.begin) / 2,
              static_cast<double>(bounds.end - bounds.begin) / 50);
  QTest::mousePress(strip, Qt::LeftButton, {}, plot.center());
  QTest::mouseMove(strip, plot.center() + QPoint(120, 0));
  QTest::mouseRelease(strip, Qt::LeftButton, {}, plot.center() + QPoint(120, 0));
  EXPECT_TRUE(window_.selection().zoomed());
}

}  // namespace
}  // namespace memprof::viewer
