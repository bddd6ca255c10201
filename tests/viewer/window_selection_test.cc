// Instant, time window and selection, shared by the views of one window.
#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>
#include <QTreeView>

#include "tests/viewer/window_fixture.h"
#include "viewer/views/flame_view.h"
#include "viewer/views/leak_view.h"
#include "viewer/views/map_view.h"
#include "viewer/views/overview_strip.h"
#include "viewer/views/survivor_chart.h"
#include "viewer/views/timeline_view.h"

namespace memprof::viewer {
namespace {

using WindowTest = testing::WindowFixture;
using testing::Count;

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
  // A block of the leaking site, on the map at the peak.
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
  EXPECT_EQ(window_.selection().allocation(), block)
      << "the leak view follows the selection and does not change it";
}

TEST_F(WindowTest, ALeakChosenIsSelectedElsewhere) {
  Open({}, ViewKind::kLeaks);
  QTreeView* table = window_.leaks()->table();
  EXPECT_FALSE(window_.selection().site().valid()) << "nothing is selected before the user selects";
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
