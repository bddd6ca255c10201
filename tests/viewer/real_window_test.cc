// A real window on an X server (tests/viewer/CMakeLists.txt starts one without a screen): one
// session from opening the log to exporting an image, with real key and mouse events.
#include <gtest/gtest.h>

#include <QGuiApplication>
#include <QLineEdit>
#include <QTreeView>

#include "tests/viewer/window_fixture.h"
#include "viewer/views/filter_bar.h"
#include "viewer/views/flame_view.h"
#include "viewer/views/leak_view.h"
#include "viewer/views/summary_header.h"
#include "viewer/views/timeline_view.h"
#include "viewer/window/navigation.h"
#include "viewer/window/pane_window.h"
#include "viewer/window/view_table.h"

namespace memprof::viewer {
namespace {

class RealWindowTest : public testing::WindowFixture {
 protected:
  void SetUp() override {
    ASSERT_EQ(QGuiApplication::platformName(), QStringLiteral("xcb")) << "start it by xvfb-run";
  }
  // Waits for the server to have drawn everything.
  void Settle() {
    window_.WaitUntilSettled();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&window_));
  }
  void Key(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
    QTest::keyClick(window_.windowHandle(), key, modifiers);
    Settle();
  }
};

TEST_F(RealWindowTest, OneSitting) {
  Open();
  window_.activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&window_));
  Settle();
  // Zooms with the wheel, at the middle of the timeline.
  TimelineView* timeline = window_.timeline();
  const analysis::TimeWindow all = window_.selection().window();
  testing::Wheel(timeline, timeline->PlotRect().center(), {0, 360});
  Settle();
  EXPECT_LT(window_.selection().window().end - window_.selection().window().begin,
            all.end - all.begin);
  // The worst leak, selected in its view …
  Key(static_cast<Qt::Key>(Qt::Key_1 + ViewIndex(ViewKind::kLeaks)), Qt::ControlModifier);
  ASSERT_EQ(window_.view(), ViewKind::kLeaks);
  QTreeView* table = window_.leaks()->table();
  const QModelIndex tier = table->model()->index(0, 0);
  const QModelIndex leak = table->model()->index(0, 0, tier);
  // Through the heading of the tier: the first leak is already current, but not selected.
  table->setCurrentIndex(tier);
  const QRect row = table->visualRect(leak);
  ASSERT_FALSE(row.isEmpty());
  QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, row.center());
  Settle();
  const analysis::StackId site = window_.document().report()->leaks[0].leak.stack;
  EXPECT_EQ(window_.selection().site(), site);
  // … is selected in every other view.
  for (const ViewEntry& view : ViewTable()) {
    window_.ShowView(view.kind);
    Settle();
    EXPECT_EQ(window_.selection().site(), site) << view.name << " changed the selection";
    EXPECT_GT(testing::Colors(testing::Grab(window_.page(view.kind))), 3) << view.name;
  }
  // Filters by typing, then undoes both the filter and the zoom.
  Key(Qt::Key_L, Qt::ControlModifier);
  QTest::keyClicks(window_.filter_bar()->text(), QStringLiteral("LossHistory"));
  QTest::keyClick(window_.filter_bar()->text(), Qt::Key_Return);
  Settle();
  ASSERT_NE(window_.document().passing(), nullptr);
  window_.setFocus();
  Key(Qt::Key_Left, Qt::AltModifier);
  EXPECT_EQ(window_.document().passing(), nullptr);
  Key(Qt::Key_Left, Qt::AltModifier);
  EXPECT_EQ(window_.selection().window().end, all.end);
  Key(Qt::Key_Right, Qt::AltModifier);
  EXPECT_LT(window_.selection().window().end - window_.selection().window().begin,
            all.end - all.begin);
  // The details in a window of their own: the main window's keys work in it.
  Key(Qt::Key_F9);
  auto* apart = window_.findChild<PaneWindow*>();
  ASSERT_TRUE(apart->isVisible());
  apart->activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(apart));
  QTest::keyClick(apart->windowHandle(), Qt::Key_1, Qt::ControlModifier);
  Settle();
  EXPECT_EQ(window_.view(), ViewKind::kTimeline);
  QTest::keyClick(apart->windowHandle(), Qt::Key_W, Qt::ControlModifier);
  Settle();
  EXPECT_FALSE(apart->isVisible());
  EXPECT_FALSE(apart->apart());
  EXPECT_TRUE(window_.isVisible()) << "Ctrl+W closes the window in front";
  // Exports the current view.
  window_.ShowView(ViewKind::kTimeline);
  Settle();
  for (const char* name : {"view.png", "view.svg"}) {
    const QString path = directory_.filePath(QString::fromLatin1(name));
    EXPECT_EQ(window_.Export(path), QString());
    EXPECT_GT(QFileInfo(path).size(), 1000);
  }
  // A damaged log leaves the open log, and causes a message.
  const auto session = window_.document().session();
  window_.Open(WriteFile(QStringLiteral("broken.mprof"), "not a log at all"));
  Settle();
  EXPECT_EQ(window_.document().session(), session);
  EXPECT_FALSE(window_.document().error().isEmpty());
  EXPECT_TRUE(
      window_.findChild<SummaryHeader*>()->BannerText().contains(QStringLiteral("Not opened")));
}

}  // namespace
}  // namespace memprof::viewer
