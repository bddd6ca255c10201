// A click on a time axis repaints strips of a picture, and the picture is then the whole new one.
#include <gtest/gtest.h>

#include <QApplication>
#include <QPainter>

#include "tests/viewer/window_fixture.h"
#include "viewer/views/fragmentation_page.h"
#include "viewer/views/fragmentation_plot.h"
#include "viewer/views/fragmentation_view.h"
#include "viewer/views/overview_strip.h"
#include "viewer/views/timeline_view.h"

namespace memprof::viewer {
namespace {

// What a widget is asked to paint.
class PaintedRegion : public QObject {
 public:
  explicit PaintedRegion(QWidget* widget) : QObject(widget) { widget->installEventFilter(this); }
  QRegion region;

 protected:
  bool eventFilter(QObject*, QEvent* event) override {
    if (event->type() == QEvent::Paint) region += static_cast<QPaintEvent*>(event)->region();
    return false;
  }
};

class InstantStripsTest : public testing::WindowFixture {
 protected:
  // Repaints only what an instant asks for, over the picture of the one before.
  void ExpectStrips(QWidget* widget) {
    const analysis::TimeWindow all = window_.selection().bounds();
    auto* painted = new PaintedRegion(widget);
    for (const int share : {3, 50, 52, 97, 0, 100}) {
      SCOPED_TRACE(share);
      QImage picture = testing::Grab(widget);
      painted->region = {};
      window_.selection().SetInstant(all.begin + (all.end - all.begin) *
                                                     static_cast<std::uint64_t>(share) / 100);
      window_.WaitUntilSettled();
      const QRegion region = painted->region;
      ASSERT_FALSE(region.isEmpty());
      int area = 0;
      for (const QRect& part : region) area += part.width() * part.height();
      EXPECT_LT(area, widget->width() * widget->height() / 8);
      widget->render(&picture, region.boundingRect().topLeft(), region, QWidget::DrawChildren);
      EXPECT_EQ(picture, testing::Grab(widget));
    }
  }
};

TEST_F(InstantStripsTest, OfTheTimelineAndTheOverview) {
  Open();
  for (const auto grouping :
       {analysis::TimelineGrouping::kKind, analysis::TimelineGrouping::kSite}) {
    window_.timeline()->stacks()->SetGrouping(grouping);
    window_.WaitUntilSettled();
    ExpectStrips(window_.timeline());
    ExpectStrips(window_.findChild<OverviewStrip*>());
  }
}

TEST_F(InstantStripsTest, OfPoolsOverTime) {
  Open({}, ViewKind::kFragmentation);
  ExpectStrips(window_.findChild<FragmentationPlot*>());
}

}  // namespace
}  // namespace memprof::viewer
