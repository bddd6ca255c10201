// The frame around what has the keyboard, found by going through the window with Tab.
#include "viewer/views/focus_ring.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <set>

#include "tests/viewer/window_fixture.h"

namespace memprof::viewer {
namespace {

using testing::Grab;

class FocusRingTest : public testing::WindowFixture {
 protected:
  FocusRing* ring() { return window_.findChild<FocusRing*>(); }
};

TEST_F(FocusRingTest, IsAroundEveryWidgetThatTabReaches) {
  Open({.steps = 4});
  window_.show();
  QApplication::setActiveWindow(&window_);
  ASSERT_NE(ring(), nullptr);
  EXPECT_FALSE(ring()->isVisible()) << "nobody used the keyboard yet";
  for (const ViewKind kind : {ViewKind::kTimeline, ViewKind::kLeaks, ViewKind::kFlame}) {
    window_.ShowView(kind);
    window_.WaitUntilSettled();
    std::set<QWidget*> reached;
    for (int i = 0; i < 60; ++i) {
      QTest::keyClick(window_.focusWidget() != nullptr ? window_.focusWidget() : &window_,
                      Qt::Key_Tab);
      QWidget* widget = window_.focusWidget();
      ASSERT_NE(widget, nullptr);
      if (widget->window() != &window_ || !reached.insert(widget).second) continue;
      ASSERT_TRUE(ring()->isVisible()) << widget->metaObject()->className();
      const QRect area(widget->mapTo(&window_, QPoint()), widget->size());
      const QRect seen = area.intersected(window_.rect());
      EXPECT_TRUE(ring()->geometry().contains(seen)) << widget->metaObject()->className();
      // Seen against what is behind it, on its upper edge.
      const QImage image = Grab(&window_);
      const QPoint top(ring()->geometry().center().x(), ring()->geometry().top() + 1);
      EXPECT_GE(Theme::Contrast(image.pixelColor(top), theme().window), 3);
    }
    EXPECT_GE(reached.size(), 5u);
  }
  EXPECT_TRUE(ring()->testAttribute(Qt::WA_TransparentForMouseEvents));
  QTest::mouseClick(&window_, Qt::LeftButton, {}, QPoint(3, window_.height() - 3));
  EXPECT_FALSE(ring()->isVisible()) << "the mouse needs none";
}

}  // namespace
}  // namespace memprof::viewer
