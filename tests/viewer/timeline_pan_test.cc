// The picture of a timeline that was moved is the picture that is painted anew.
#include <gtest/gtest.h>

#include <random>

#include "tests/viewer/window_fixture.h"
#include "viewer/geometry/window_math.h"
#include "viewer/views/timeline_view.h"

namespace memprof::viewer {
namespace {

using analysis::TimelineGrouping;

class TimelinePanTest : public testing::WindowFixture {
 protected:
  TimelineView* view() { return window_.timeline(); }
  Selection& selection() { return window_.selection(); }

  void ExpectAsPaintedAnew() {
    window_.WaitUntilSettled();
    const QImage moved = testing::Grab(view());
    // Columns of another width have nothing in common with these.
    const QSize size = view()->size();
    view()->resize(size - QSize(37, 0));
    testing::Grab(view());
    view()->resize(size);
    EXPECT_EQ(moved, testing::Grab(view()));
  }

  void Pan() {
    for (int move = 0; move < 6; ++move) {
      const double pixels = static_cast<double>(random_() % 400) - 200;
      selection().SetWindow(
          PanBy(view()->Scale(), move % 2 == 0 ? pixels : pixels / 7, selection().bounds()));
      SCOPED_TRACE(pixels);
      ExpectAsPaintedAnew();
    }
  }

  std::mt19937 random_{11};
};

TEST_F(TimelinePanTest, IsThePicturePaintedAnew) {
  Open();
  selection().SetWindow(
      ZoomAt(view()->Scale(), selection().bounds().begin, 0.4, selection().bounds()));
  for (const bool dark : {true, false}) {
    window_.setPalette(MakePalette(dark));
    Pan();
    selection().SetWindow(
        ZoomAt(view()->Scale(), view()->Scale().At(300), 0.8, selection().bounds()));
    Pan();
    window_.resize(dark ? 1500 : 1111, 777);
    Pan();
    view()->stacks()->SetGrouping(TimelineGrouping::kSite);
    Pan();
    view()->stacks()->ToggleBand(1);
    Pan();
    window_.document().PinSiteColor(view()->stacks()->bands()->bands[0].key, dark ? 5 : 3);
    Pan();
    analysis::AllocationFilter filter;
    filter.least_bytes = 1 << 20;
    selection().SetFilter(filter);
    Pan();
    selection().SetAxis(dark ? AxisKind::kSteps : AxisKind::kTime);
    Pan();
    selection().SetFilter({});
    view()->stacks()->SetGrouping(TimelineGrouping::kKind);
  }
}

}  // namespace
}  // namespace memprof::viewer
