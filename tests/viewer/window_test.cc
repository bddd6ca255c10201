// The window on a log: its views, keys, theme, help, dropped files.
#include <gtest/gtest.h>

#include <QApplication>
#include <QDialog>
#include <QDragEnterEvent>
#include <QFile>
#include <QMimeData>
#include <QSettings>
#include <QTest>
#include <QTextBrowser>

#include "tests/viewer/window_fixture.h"
#include "viewer/views/flame_view.h"
#include "viewer/views/timeline_view.h"
#include "viewer/views/welcome_page.h"
#include "viewer/window/help_dialog.h"
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
  // The peak's column is filled up to the peak's height, and not higher.
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

TEST_F(WindowTest, KeysMoveBetweenViews) {
  Open();
  const auto key = [](ViewKind view) { return static_cast<Qt::Key>(Qt::Key_1 + ViewIndex(view)); };
  QTest::keyClick(&window_, key(ViewKind::kLeaks), Qt::ControlModifier);
  EXPECT_EQ(window_.view(), ViewKind::kLeaks);
  QTest::keyClick(&window_, key(ViewKind::kFlame), Qt::ControlModifier);
  EXPECT_EQ(window_.view(), ViewKind::kFlame);
  QTest::keyClick(&window_, Qt::Key_F, Qt::ControlModifier);
  EXPECT_EQ(window_.view(), ViewKind::kFlame) << "it has its own search";
  EXPECT_TRUE(HelpHtml().contains(QStringLiteral("Ctrl+F")));
  QTest::keyClick(&window_, Qt::Key_1, Qt::ControlModifier);
  window_.selection().SetInstant(0);
  QTest::keyClick(&window_, Qt::Key_P);
  EXPECT_EQ(window_.selection().instant(), window_.document().bands(0)->in_use.time_of_max());
}

TEST_F(WindowTest, HelpOpensOnF1AndDescribesSeveralLogs) {
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
      // Points in the header, the menu bar and the overview that contain only background.
      for (const QPoint& at : {QPoint(3, 60), QPoint(900, 8), QPoint(3, image.height() - 20)}) {
        EXPECT_EQ(image.pixelColor(at).lightness() < 80, dark)
            << "view " << static_cast<int>(view) << " at " << at.x() << ", " << at.y();
      }
    }
  }
  QApplication::setPalette(before);
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

}  // namespace
}  // namespace memprof::viewer
