// The drawing of allocations over time: position of every allocation by life and lane, colours,
// selection, zoom by mouse and keys.
#include "viewer/views/allocations_view.h"

#include <gtest/gtest.h>

#include <QComboBox>

#include "tests/viewer/window_fixture.h"
#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

using analysis::AllocationId;
using testing::Grab;
using testing::Near;
using testing::Wheel;

class AllocationsTest : public testing::WindowFixture {
 protected:
  void SetUp() override {
    Open({.steps = 12}, ViewKind::kAllocations);
    view_ = dynamic_cast<AllocationsView*>(window_.page(ViewKind::kAllocations));
    ASSERT_NE(view_, nullptr);
    canvas_ = view_->canvas();
    ASSERT_NE(canvas_->picture(), nullptr);
  }

  const analysis::Session& session() { return *window_.document().session(); }
  const AllocationIndex& index() { return *canvas_->index(); }

  // Rows drawn with at least this width and height.
  std::vector<std::size_t> LargeRows(double width, double height) {
    std::vector<std::size_t> rows;
    for (std::size_t row = 0; row < index().size(); ++row) {
      const auto rect = canvas_->RectOf(index().id(row));
      if (rect.has_value() && rect->width() >= width && rect->height() >= height)
        rows.push_back(row);
    }
    return rows;
  }
  QPoint Middle(std::size_t row) { return canvas_->RectOf(index().id(row))->center().toPoint(); }
  QColor ColorOf(std::size_t row) {
    return QColor::fromRgb(canvas_->colors()->palette[canvas_->colors()->of[row]]);
  }
  // The colour at a point without label and edge.
  static QColor Corner(const QImage& image, const QRectF& rect) {
    return image.pixelColor(static_cast<int>(rect.right()) - 3,
                            static_cast<int>(rect.bottom()) - 2);
  }
  int Choose(AllocationColoring coloring) {
    view_->panel()->coloring()->setCurrentIndex(static_cast<int>(coloring));
    window_.WaitUntilSettled();
    return view_->panel()->coloring()->currentIndex();
  }

  AllocationsView* view_ = nullptr;
  AllocationsCanvas* canvas_ = nullptr;
};

TEST_F(AllocationsTest, EveryLargeAllocationHasTheColourOfItsSite) {
  const QImage image = Grab(canvas_);
  int checked = 0;
  for (const std::size_t row : LargeRows(8, 6)) {
    const QRectF rect = *canvas_->RectOf(index().id(row));
    EXPECT_TRUE(Near(Corner(image, rect), ColorOf(row))) << "row " << row;
    ++checked;
  }
  EXPECT_GT(checked, 20);
  EXPECT_GT(testing::Colors(image), 6);
  EXPECT_TRUE(view_->panel()->SummaryText().contains(FormatCount(index().size())));
}

TEST_F(AllocationsTest, NothingIsHidden) {
  // Even the smallest allocation colours its pixel.
  const QImage image = Grab(canvas_);
  const QRectF plot = canvas_->PlotRect();
  for (std::size_t row = 0; row < index().size(); ++row) {
    const auto rect = canvas_->RectOf(index().id(row));
    ASSERT_TRUE(rect.has_value());
    const QPointF at(std::min(rect->center().x(), plot.right() - 1), rect->center().y());
    const QColor seen = image.pixelColor(at.toPoint().x(), static_cast<int>(at.y()));
    EXPECT_FALSE(Near(seen, theme().surface, 2)) << "row " << row;
  }
}

TEST_F(AllocationsTest, AClickSelectsTheAllocationAndItsSite) {
  const std::size_t row = LargeRows(30, 10)[3];
  QTest::mouseClick(canvas_, Qt::LeftButton, {}, Middle(row));
  EXPECT_EQ(window_.selection().allocation(), index().id(row));
  EXPECT_EQ(window_.selection().site(), session().record(index().id(row)).stack);
  EXPECT_NEAR(canvas_->Scale().X(window_.selection().instant()), Middle(row).x(), 1);
  window_.WaitUntilSettled();
  // The selected one has a frame, its site keeps its colour, others are dimmed.
  const QImage image = Grab(canvas_);
  const QRect rect = canvas_->RectOf(index().id(row))->toRect();
  EXPECT_GT(testing::Count(image, rect.adjusted(-3, -3, 3, 3), theme().text), rect.width());
  const double line = canvas_->Scale().X(window_.selection().instant());
  int others = 0;
  for (const std::size_t other : LargeRows(12, 8)) {
    const bool same =
        session().record(index().id(other)).stack == session().record(index().id(row)).stack;
    const QColor now = ColorOf(other);
    const QRectF seen = *canvas_->RectOf(index().id(other));
    // The frame also covers adjacent pixels, as does the line of the instant.
    const bool covered = seen.toRect().intersects(rect.adjusted(-4, -4, 4, 4)) ||
                         std::abs(seen.right() - 3 - line) < 3;
    if (other != row && !covered) {
      EXPECT_TRUE(Near(Corner(image, seen), now)) << other;
    }
    const auto full = canvas_->colors()->palette.begin() + 1;
    const std::size_t colors = (canvas_->colors()->palette.size() - 1) / 2;
    const bool dimmed = std::find(full, full + static_cast<std::ptrdiff_t>(colors), now.rgb()) ==
                        full + static_cast<std::ptrdiff_t>(colors);
    EXPECT_EQ(dimmed, !same) << "row " << other;
    others += !same;
  }
  EXPECT_GT(others, 3);
  // A click outside of all allocations selects nothing.
  QTest::mouseClick(canvas_, Qt::LeftButton, {},
                    (canvas_->PlotRect().topLeft() + QPointF(3, 3)).toPoint());
  EXPECT_FALSE(window_.selection().allocation().valid());
}

TEST_F(AllocationsTest, ADoubleClickZoomsToItsLifetimeAndBackUndoesIt) {
  const analysis::TimeWindow before = window_.selection().window();
  std::vector<std::size_t> rows = LargeRows(12, 8);
  std::erase_if(rows, [&](std::size_t row) {
    return index().Death(row) - index().Birth(row) > (before.end - before.begin) / 4;
  });
  ASSERT_FALSE(rows.empty());
  const std::size_t row = rows.back();
  QTest::mouseDClick(canvas_, Qt::LeftButton, {}, Middle(row));
  const analysis::TimeWindow window = window_.selection().window();
  EXPECT_LE(window.begin, index().Birth(row));
  EXPECT_GE(window.end, std::min(index().Death(row), window_.selection().bounds().end));
  EXPECT_LT(window.end - window.begin, (before.end - before.begin) / 2);
  window_.selection().Back();
  EXPECT_EQ(window_.selection().window().begin, before.begin);
  EXPECT_EQ(window_.selection().window().end, before.end);
}

TEST_F(AllocationsTest, WheelAndKeysZoomTimeAndBytes) {
  const QPointF at = canvas_->PlotRect().center();
  const analysis::TimeNs time = canvas_->Scale().At(at.x());
  const double bytes = canvas_->BytesAt(at.y());
  Wheel(canvas_, at, {0, 240});
  EXPECT_LT(window_.selection().window().end - window_.selection().window().begin,
            (window_.selection().bounds().end - window_.selection().bounds().begin) * 7 / 10);
  EXPECT_NEAR(canvas_->Scale().X(time), at.x(), 1);
  Wheel(canvas_, at, {0, 240}, Qt::ControlModifier);
  EXPECT_NEAR(canvas_->high() - canvas_->low(), index().bytes() * 0.64, index().bytes() * 0.01);
  EXPECT_NEAR(canvas_->Y(bytes), at.y(), 1) << "the position under the mouse does not change";
  const double low = canvas_->low();
  QTest::keyClick(canvas_, Qt::Key_PageUp);
  EXPECT_GT(canvas_->low(), low);
  QTest::keyClick(canvas_, Qt::Key_Up, Qt::ShiftModifier);
  EXPECT_NEAR(canvas_->high() - canvas_->low(), index().bytes() * 0.32, index().bytes() * 0.01);
  QTest::keyClick(canvas_, Qt::Key_0);
  EXPECT_EQ(canvas_->low(), 0);
  EXPECT_EQ(canvas_->high(), index().bytes());
  window_.WaitUntilSettled();
  EXPECT_EQ(canvas_->picture()->box.window.begin, window_.selection().window().begin)
      << "the picture was drawn for this window";
  EXPECT_EQ(canvas_->picture()->box.high, index().bytes());
}

TEST_F(AllocationsTest, ABrushChoosesTheWindow) {
  const QRectF plot = canvas_->PlotRect();
  const QPoint a(static_cast<int>(plot.left() + 100), static_cast<int>(plot.center().y()));
  const QPoint b = a + QPoint(200, 30);
  const TimeScale scale = canvas_->Scale();
  QTest::mousePress(canvas_, Qt::LeftButton, {}, a);
  QTest::mouseMove(canvas_, b);
  QTest::mouseRelease(canvas_, Qt::LeftButton, {}, b);
  EXPECT_EQ(window_.selection().window().begin, scale.At(a.x()));
  EXPECT_EQ(window_.selection().window().end, scale.At(b.x()));
}

TEST_F(AllocationsTest, BracketsGoThroughTheAllocationsOfASite) {
  // One that is not the last of its site.
  std::size_t row = 0;
  for (const std::size_t large : LargeRows(12, 8)) {
    row = large;
    bool more = false;
    for (std::size_t later = row + 1; later < index().size(); ++later)
      more |= session().record(index().id(later)).stack == session().record(index().id(row)).stack;
    if (more) break;
  }
  window_.selection().SelectAllocation(index().id(row), session().record(index().id(row)).stack);
  canvas_->setFocus();
  QTest::keyClick(canvas_, Qt::Key_BracketRight);
  const AllocationId next = window_.selection().allocation();
  EXPECT_GT(next, index().id(row));
  EXPECT_EQ(session().record(next).stack, session().record(index().id(row)).stack);
  for (std::uint32_t id = index().id(row).value + 1; id < next.value; ++id) {
    EXPECT_FALSE(session().record(AllocationId(id)).stack == session().record(next).stack &&
                 index().Row(AllocationId(id)).has_value())
        << "no allocation is skipped";
  }
  QTest::keyClick(canvas_, Qt::Key_BracketLeft);
  EXPECT_EQ(window_.selection().allocation(), index().id(row));
  QTest::keyClick(canvas_, Qt::Key_Return);
  EXPECT_LE(window_.selection().window().begin, index().Birth(row));
}

TEST_F(AllocationsTest, TheFilterMakesTheRestFaint) {
  analysis::AllocationFilter filter;
  filter.least_bytes = 8 << 20;
  window_.selection().SetFilter(filter);
  window_.WaitUntilSettled();
  const QImage image = Grab(canvas_);
  const QColor faint = QColor::fromRgb(canvas_->colors()->palette[0]);
  int passing = 0;
  for (const std::size_t row : LargeRows(8, 6)) {
    const bool passes = session().record(index().id(row)).bytes >= filter.least_bytes;
    EXPECT_EQ(Near(Corner(image, *canvas_->RectOf(index().id(row))), faint, 2), !passes);
    passing += passes;
  }
  EXPECT_GT(passing, 3);
  EXPECT_TRUE(view_->panel()->SummaryText().contains(QStringLiteral("in the filter")));
}

TEST_F(AllocationsTest, ColoursCanMeanOtherThings) {
  ASSERT_GT(Choose(AllocationColoring::kSize), 0);
  std::size_t largest = 0, smallest = 0;
  for (std::size_t row = 0; row < index().size(); ++row) {
    const auto bytes = [&](std::size_t r) { return session().record(index().id(r)).bytes; };
    if (bytes(row) > bytes(largest)) largest = row;
    if (bytes(row) < bytes(smallest)) smallest = row;
  }
  EXPECT_EQ(ColorOf(largest), theme().Ramp(1));
  EXPECT_EQ(ColorOf(smallest), theme().Ramp(0));
  Choose(AllocationColoring::kLifetime);
  EXPECT_EQ(ColorOf(0), theme().Ramp(1)) << "the first is never freed";
  EXPECT_TRUE(view_->panel()->LegendText().contains(QStringLiteral("never")));
  Choose(AllocationColoring::kLeak);
  for (std::size_t row = 0; row < index().size(); ++row) {
    if (!session().record(index().id(row)).alive()) {
      EXPECT_EQ(canvas_->colors()->of[row], 1);
      continue;
    }
    EXPECT_GT(canvas_->colors()->of[row], 1);
  }
  Choose(AllocationColoring::kCategory);
  EXPECT_TRUE(view_->panel()->LegendText().contains(QStringLiteral("parameters")))
      << qPrintable(view_->panel()->LegendText());
}

TEST_F(AllocationsTest, TheTipShowsSizeSiteBirthAndLife) {
  for (const std::size_t row : LargeRows(12, 10)) {
    if (session().record(index().id(row)).alive()) continue;
    const QString tip = testing::TipAt(canvas_, Middle(row));
    EXPECT_EQ(tip, canvas_->Describe(row));
    for (const char* part : {"Size", "Allocated at", "Born", "step", "Lived"})
      EXPECT_TRUE(tip.contains(QString::fromUtf8(part))) << part << " in " << qPrintable(tip);
    break;
  }
  EXPECT_TRUE(canvas_->Describe(0).contains(QStringLiteral("never")));
}

TEST_F(AllocationsTest, TheAxisCanBeSteps) {
  const QImage time = Grab(canvas_);
  window_.selection().SetAxis(AxisKind::kSteps);
  window_.WaitUntilSettled();
  EXPECT_TRUE(canvas_->picture()->steps);
  const QImage steps = Grab(canvas_);
  EXPECT_NE(time, steps);
  for (const std::size_t row : LargeRows(8, 6))
    EXPECT_TRUE(Near(Corner(steps, *canvas_->RectOf(index().id(row))), ColorOf(row)));
}

TEST_F(AllocationsTest, WritesTheRowsOfTheWindow) {
  const auto lines = [&] {
    QString text;
    QTextStream out(&text);
    EXPECT_TRUE(view_->WriteCsv(&out));
    return text.split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  };
  const QStringList all = lines();
  ASSERT_EQ(all.size(), static_cast<int>(index().size()) + 1);
  EXPECT_TRUE(all[0].startsWith(QStringLiteral("allocation,layer,address,bytes,born_s,freed_s")));
  EXPECT_TRUE(all[1].contains(QString::number(session().record(index().id(0)).bytes)));
  const analysis::TimeWindow bounds = window_.selection().bounds();
  window_.selection().SetWindow({bounds.begin, bounds.begin + (bounds.end - bounds.begin) / 4});
  EXPECT_LT(lines().size(), all.size());
}

class OwnAllocationsTest : public testing::WindowFixture {};

TEST_F(OwnAllocationsTest, ADeviceWithoutMemorySaysSo) {
  analysis::testing::LogBuilder log;
  log.Device(0, 1 << 30);
  log.Step(0);
  log.AdvanceTime(1'000'000);
  log.Step(1);
  OpenLog(log, ViewKind::kAllocations);
  auto* view = dynamic_cast<AllocationsView*>(window_.page(ViewKind::kAllocations));
  ASSERT_NE(view, nullptr);
  const QImage image = Grab(view->canvas());
  EXPECT_GT(testing::TextPixels(image), 200) << "some text";
  EXPECT_TRUE(view->panel()->SummaryText().isEmpty());
  QTest::mouseClick(view->canvas(), Qt::LeftButton, {}, {200, 100});
  QTest::keyClick(view->canvas(), Qt::Key_BracketRight);
  QString text;
  QTextStream out(&text);
  EXPECT_FALSE(view->WriteCsv(&out));
}

TEST_F(OwnAllocationsTest, AnotherLogTakesThePlaceOfTheFirst) {
  Open({.steps = 6}, ViewKind::kAllocations);
  auto* canvas = dynamic_cast<AllocationsView*>(window_.page(ViewKind::kAllocations))->canvas();
  const std::size_t before = canvas->index()->size();
  canvas->SetBytes(0, 1 << 20);
  Open({.steps = 3, .leak = false}, ViewKind::kAllocations);
  window_.WaitUntilSettled();
  ASSERT_NE(canvas->index(), nullptr);
  EXPECT_LT(canvas->index()->size(), before);
  EXPECT_EQ(&canvas->index()->session(), window_.document().session().get());
  EXPECT_EQ(canvas->high(), canvas->index()->bytes()) << "all bytes";
  // A hidden view releases a log that is no longer open.
  window_.ShowView(ViewKind::kTimeline);
  Open({.steps = 4}, ViewKind::kTimeline);
  EXPECT_EQ(canvas->index(), nullptr);
}

TEST_F(OwnAllocationsTest, AnotherDeviceIsAnotherPicture) {
  analysis::testing::LogBuilder log;
  log.Device(0, 1 << 30);
  log.Device(1, 1 << 30);
  log.Alloc(analysis::Layer::kLinear, 0x1000000, 1 << 20, {.device = 0});
  log.Alloc(analysis::Layer::kLinear, 0x9000000, 2 << 20, {.device = 1});
  log.AdvanceTime(1'000'000);
  log.Alloc(analysis::Layer::kLinear, 0xa000000, 1 << 20, {.device = 1});
  log.AdvanceTime(1'000'000);
  log.Step(0);
  OpenLog(log, ViewKind::kAllocations);
  auto* canvas = dynamic_cast<AllocationsView*>(window_.page(ViewKind::kAllocations))->canvas();
  window_.selection().SetDevice(0);
  window_.WaitUntilSettled();
  EXPECT_EQ(canvas->index()->size(), 1u);
  window_.selection().SetDevice(1);
  window_.WaitUntilSettled();
  EXPECT_EQ(canvas->index()->size(), 2u);
  EXPECT_EQ(canvas->index()->bytes(), 3 << 20);
}

TEST_F(OwnAllocationsTest, ATensorSelectedElsewhereIsFramedAsItsBlock) {
  Open({.steps = 6}, ViewKind::kAllocations);
  auto* canvas = dynamic_cast<AllocationsView*>(window_.page(ViewKind::kAllocations))->canvas();
  const analysis::Session& session = *window_.document().session();
  for (std::uint32_t i = 0; i < session.records().size(); ++i) {
    const analysis::AllocationRecord& a = session.record(AllocationId(i));
    if (a.layer != analysis::Layer::kTensor) continue;
    window_.selection().SelectAllocation(AllocationId(i), a.stack);
    window_.WaitUntilSettled();
    const auto rect = canvas->RectOf(a.parent);
    ASSERT_TRUE(rect.has_value());
    EXPECT_GT(testing::Count(Grab(canvas), rect->toRect().adjusted(-3, -3, 3, 3), theme().text),
              static_cast<int>(rect->width()));
    return;
  }
  FAIL() << "no tensor in the log";
}

}  // namespace
}  // namespace memprof::viewer
