// The drawn address map: every piece in its colour, the hole, the pin, the selection.
#include "viewer/views/map_view.h"

#include <gtest/gtest.h>

#include <QComboBox>
#include <QLabel>

#include "tests/viewer/window_fixture.h"
#include "viewer/views/rich_label.h"

namespace memprof::viewer {
namespace {

using testing::Count;
using testing::Grab;
using testing::Near;

class MapTest : public testing::WindowFixture {
 protected:
  void SetUp() override {
    Open({.steps = 20}, ViewKind::kMap);
    canvas_ = window_.map()->canvas();
    ASSERT_NE(canvas_->picture(), nullptr);
  }

  const std::vector<analysis::MapSegment>& segments() { return canvas_->picture()->map.segments; }
  const analysis::MapPiece& PieceOf(const MapHit& hit) {
    return segments()[static_cast<std::size_t>(hit.segment)]
        .pieces[static_cast<std::size_t>(hit.piece)];
  }

  // Pieces drawn with at least this width.
  std::vector<MapHit> WidePieces(double width) {
    std::vector<MapHit> hits;
    for (std::size_t s = 0; s < segments().size(); ++s) {
      for (std::size_t p = 0; p < segments()[s].pieces.size(); ++p) {
        const MapHit hit{static_cast<int>(s), static_cast<int>(p)};
        const auto rect = canvas_->RectOf(hit);
        if (rect.has_value() && rect->width() >= width) hits.push_back(hit);
      }
    }
    return hits;
  }

  // The colour near the lower left corner of a piece, where there is no label, mark or frame.
  QColor Corner(const QImage& image, const MapHit& hit) {
    const QRectF rect = *canvas_->RectOf(hit);
    return image.pixelColor(static_cast<int>(rect.left()) + 3, static_cast<int>(rect.bottom()) - 3);
  }

  MapCanvas* canvas_ = nullptr;
};

TEST_F(MapTest, EveryBlockHasTheColourOfItsSite) {
  const QImage image = Grab(canvas_);
  int checked = 0;
  for (const MapHit& hit : WidePieces(12)) {
    const analysis::MapPiece& piece = PieceOf(hit);
    if (piece.hole()) continue;
    const int rank = canvas_->picture()->rank.at(
        MapPicture::SiteOf(*window_.document().session(), piece.allocation));
    const int color = canvas_->picture()->sites[static_cast<std::size_t>(rank)].color;
    EXPECT_TRUE(Near(Corner(image, hit), theme().Categorical(color)))
        << "segment " << hit.segment << " piece " << hit.piece;
    ++checked;
  }
  EXPECT_GT(checked, 20);
}

TEST_F(MapTest, HolesAreHatchedAndTheLargestIsFramed) {
  // When the activations are freed there are holes.
  window_.selection().SetInstant(window_.selection().bounds().end);
  window_.WaitUntilSettled();
  const auto hole = FindLargestHole(canvas_->picture()->map);
  ASSERT_TRUE(hole.has_value());
  const QImage image = Grab(canvas_);
  const QRect rect = canvas_->RectOf(*hole)->toRect();
  EXPECT_GT(Count(image, rect.adjusted(-2, -2, 2, 2), theme().accent), 2 * rect.width() - 20);
  EXPECT_GT(Count(image, rect, theme().hole), rect.width()) << "free space between the hatches";
  EXPECT_TRUE(window_.map()->SummaryText().contains(QStringLiteral("largest hole")));
}

TEST_F(MapTest, TheSelectedBlockAndItsSiteAreFramed) {
  const MapHit hit = WidePieces(40)[2];
  const QRect rect = canvas_->RectOf(hit)->toRect();
  const int before = Count(Grab(canvas_), rect.adjusted(-1, -1, 1, 1), theme().text);
  QTest::mouseClick(canvas_, Qt::LeftButton, {}, rect.center());
  EXPECT_EQ(window_.selection().allocation(), PieceOf(hit).allocation);
  const QImage image = Grab(canvas_);
  EXPECT_GT(Count(image, rect.adjusted(-1, -1, 1, 1), theme().text), before + 2 * rect.width());
  // Other blocks of the same site have a thin frame, blocks of other sites have none.
  for (const MapHit& other : WidePieces(30)) {
    if (other.segment == hit.segment && other.piece == hit.piece) continue;
    if (PieceOf(other).hole()) continue;
    const bool same = MapPicture::SiteOf(*window_.document().session(),
                                         PieceOf(other).allocation) == window_.selection().site();
    const QRect area = canvas_->RectOf(other)->toRect();
    const int on_top =
        Count(image, {area.left() + 2, area.top() - 1, area.width() - 6, 2}, theme().text);
    EXPECT_EQ(on_top >= area.width() - 8, same) << other.segment << " " << other.piece;
  }
  // A click outside of all pieces clears the selection, like Escape.
  QTest::mouseClick(canvas_, Qt::LeftButton, {}, QPoint(2, canvas_->height() - 2));
  EXPECT_FALSE(window_.selection().site().valid());
}

TEST_F(MapTest, ColoursCanMeanAgeOrSize) {
  auto* choice = window_.map()->coloring();
  ASSERT_NE(choice, nullptr);
  for (const auto& [index, coloring] :
       {std::pair{1, MapCanvas::Coloring::kAge}, std::pair{2, MapCanvas::Coloring::kSize}}) {
    choice->setCurrentIndex(index);
    const QImage image = Grab(canvas_);
    for (const MapHit& hit : WidePieces(12)) {
      if (PieceOf(hit).hole()) continue;
      EXPECT_TRUE(Near(Corner(image, hit), canvas_->PieceColor(PieceOf(hit), theme())));
    }
    EXPECT_EQ(static_cast<int>(coloring), index);
  }
  // By size, the largest block has the last colour of the ramp and a small one does not.
  for (const MapHit& hit : WidePieces(1)) {
    const analysis::MapPiece& piece = PieceOf(hit);
    if (piece.hole()) continue;
    EXPECT_EQ(canvas_->PieceColor(piece, theme()) == theme().Ramp(1),
              piece.bytes == canvas_->picture()->largest_block);
  }
  choice->setCurrentIndex(1);
  // By age, the oldest block is as old as the recording.
  const analysis::Session& session = *window_.document().session();
  const MapHit* oldest = nullptr;
  const std::vector<MapHit> hits = WidePieces(1);
  for (const MapHit& hit : hits) {
    if (PieceOf(hit).hole()) continue;
    if (oldest == nullptr || session.allocation(PieceOf(hit).allocation).birth_time <
                                 session.allocation(PieceOf(*oldest).allocation).birth_time) {
      oldest = &hit;
    }
  }
  EXPECT_TRUE(Near(canvas_->PieceColor(PieceOf(*oldest), theme()), theme().Ramp(1), 12));
}

TEST_F(MapTest, TheTipShowsWhatIsUnderTheMouse) {
  const MapHit hit = WidePieces(40)[0];
  const QPoint at = canvas_->RectOf(hit)->center().toPoint();
  EXPECT_EQ(
      testing::TipAt(canvas_, at),
      DescribePiece(*window_.document().session(), *canvas_->picture(), hit.segment, hit.piece));
  const QRect rect = canvas_->RectOf(hit)->toRect().adjusted(-1, -1, 2, 2);
  const int before = Count(Grab(canvas_), rect, theme().accent);
  QTest::mouseMove(canvas_, at);
  EXPECT_GT(Count(Grab(canvas_), rect, theme().accent), before + rect.width()) << "framed";
  QEvent leave(QEvent::Leave);
  QCoreApplication::sendEvent(canvas_, &leave);
  EXPECT_EQ(Count(Grab(canvas_), rect, theme().accent), before);
}

TEST_F(MapTest, ControlAndWheelZoom) {
  const double before = canvas_->layout_of_map().bytes_per_pixel;
  testing::Wheel(canvas_, {200, 50}, {0, 240}, Qt::ControlModifier);
  EXPECT_NEAR(canvas_->layout_of_map().bytes_per_pixel, before / (1.25 * 1.25), before * 1e-6);
  EXPECT_GT(canvas_->layout_of_map().content_height, canvas_->parentWidget()->height())
      << "contents that do not fit can be scrolled";
  testing::Wheel(canvas_, {200, 50}, {0, -1200}, Qt::ControlModifier);
  EXPECT_NEAR(canvas_->layout_of_map().bytes_per_pixel, before, before * 1e-6)
      << "zooming out stops when everything is shown";
}

TEST_F(MapTest, FillsTheView) {
  const double height = canvas_->parentWidget()->height();
  EXPECT_LE(canvas_->layout_of_map().content_height, height + 0.01);
  EXPECT_GT(canvas_->layout_of_map().content_height, 0.7 * height);
}

TEST_F(MapTest, AHoleShowsWhatPinsItAndSelectsThat) {
  window_.selection().SetInstant(window_.selection().bounds().end);
  window_.WaitUntilSettled();
  const analysis::Session& session = *window_.document().session();
  const auto tell = [&](const MapHit& hit) {
    return DescribeHole(session, *canvas_->picture(), hit.segment, hit.piece);
  };
  std::optional<MapHit> hole;
  for (const MapHit& hit : WidePieces(10))
    if (PieceOf(hit).hole() && tell(hit).pin.valid()) hole = hit;
  ASSERT_TRUE(hole.has_value());
  const HoleStory story = tell(*hole);
  QTest::mouseClick(canvas_, Qt::LeftButton, {}, canvas_->RectOf(*hole)->center().toPoint());
  window_.WaitUntilSettled();
  EXPECT_EQ(window_.selection().allocation(), story.pin);
  EXPECT_EQ(window_.map()->HoleText(), story.text) << "and it stays displayed";
  EXPECT_TRUE(story.text.contains(QStringLiteral("pinned by")));
  // For a block there is no text here; the details panel shows it.
  QTest::mouseClick(canvas_, Qt::LeftButton, {},
                    canvas_->RectOf(WidePieces(40)[0])->center().toPoint());
  EXPECT_TRUE(window_.map()->HoleText().isEmpty());
  // The same with the keyboard.
  canvas_->setFocus();
  QTest::keyClick(canvas_, Qt::Key_H);
  EXPECT_EQ(window_.map()->HoleText(), tell(*FindLargestHole(canvas_->picture()->map)).text);
}

TEST_F(MapTest, KeysGoFromPieceToPiece) {
  canvas_->setFocus();
  QTest::keyClick(canvas_, Qt::Key_Right);
  EXPECT_EQ(window_.selection().allocation(), PieceOf({0, 0}).allocation)
      << "starts at the first piece";
  std::size_t pieces = 0;
  for (const analysis::MapSegment& segment : segments()) pieces += segment.pieces.size();
  for (std::size_t i = 0; i < pieces + 3; ++i) QTest::keyClick(canvas_, Qt::Key_Right);
  const int last = static_cast<int>(segments().size()) - 1;
  const int end = static_cast<int>(segments().back().pieces.size()) - 1;
  EXPECT_EQ(window_.selection().allocation(), PieceOf({last, end}).allocation)
      << "stops at the last piece";
  for (std::size_t i = 0; i < pieces + 3; ++i) QTest::keyClick(canvas_, Qt::Key_Left);
  EXPECT_EQ(window_.selection().allocation(), PieceOf({0, 0}).allocation);
}

TEST_F(MapTest, WhatTheFilterHidesIsGrey) {
  analysis::AllocationFilter filter;
  filter.least_bytes = 8 << 20;
  window_.selection().SetFilter(filter);
  window_.WaitUntilSettled();
  const QImage image = Grab(canvas_);
  int passing = 0, hidden = 0;
  for (const MapHit& hit : WidePieces(12)) {
    if (PieceOf(hit).hole()) continue;
    const bool passes = PieceOf(hit).bytes >= filter.least_bytes;
    EXPECT_EQ(Near(Corner(image, hit), theme().border, 2), !passes);
    ++(passes ? passing : hidden);
  }
  EXPECT_GT(passing, 2);
  EXPECT_GT(hidden, 2);
}

TEST_F(MapTest, WritesItsPieces) {
  QString text;
  QTextStream out(&text);
  ASSERT_TRUE(window_.map()->WriteCsv(&out));
  const QStringList lines = text.split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  EXPECT_EQ(lines[0], QStringLiteral("segment,address,bytes,state,allocation,site"));
  int pieces = 0;
  for (const analysis::MapSegment& segment : segments())
    pieces += static_cast<int>(segment.pieces.size());
  EXPECT_EQ(lines.size(), pieces + 1);
  EXPECT_TRUE(text.contains(QStringLiteral(",in use,")));
  EXPECT_TRUE(text.contains(QStringLiteral(",free,,")));
}

TEST_F(MapTest, ShowsAddressesOverTime) {
  window_.map()->SetMode(MapView::Mode::kOverTime);
  window_.WaitUntilSettled();
  const AllocationsCanvas& over_time = *window_.map()->over_time()->canvas();
  ASSERT_NE(over_time.picture(), nullptr);
  const analysis::Session& session = *window_.document().session();
  const QImage image = Grab(window_.map()->over_time()->canvas());
  // Blocks have their colours, and their vertical order is that of their addresses.
  std::optional<QRectF> below;
  std::uint64_t below_address = 0;
  int checked = 0, holes = 0;
  const AllocationIndex& index = *over_time.index();
  for (std::size_t row = 0; row < index.size(); ++row) {
    const auto rect = over_time.RectOf(index.id(row));
    ASSERT_TRUE(rect.has_value());
    if (rect->height() < 6 || rect->width() < 10) continue;
    const QColor color = QColor::fromRgb(over_time.colors()->palette[over_time.colors()->of[row]]);
    EXPECT_TRUE(Near(
        image.pixelColor(static_cast<int>(rect->right()) - 3, static_cast<int>(rect->bottom()) - 2),
        color));
    const std::uint64_t address = session.record(index.id(row)).address;
    if (below.has_value() && address != below_address) {
      EXPECT_EQ(rect->bottom() <= below->top() + 0.01, address > below_address);
    }
    below = rect;
    below_address = address;
    ++checked;
  }
  EXPECT_GT(checked, 20);
  holes = Count(image, over_time.PlotRect().toRect(), theme().hole);
  EXPECT_GT(holes, 1000) << "free memory of segments";
  QString text;
  QTextStream out(&text);
  EXPECT_TRUE(window_.map()->WriteCsv(&out));
  EXPECT_TRUE(text.contains(QStringLiteral("born")));
  window_.map()->SetMode(MapView::Mode::kInstant);
  window_.WaitUntilSettled();
  EXPECT_NE(canvas_->picture(), nullptr);
}

class OwnMapTest : public testing::WindowFixture {};

TEST_F(OwnMapTest, APinIsMarked) {
  // A small block in the middle of an otherwise free segment.
  analysis::testing::LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(analysis::Layer::kLinear, 0x7f0000000000, 16 << 20);
  log.Alloc(analysis::Layer::kSegment, 0x7f0000000000, 16 << 20);
  log.Alloc(analysis::Layer::kBlock, 0x7f0000000000 + (8 << 20), 1 << 20);
  OpenLog(log, ViewKind::kMap);
  MapCanvas* canvas = window_.map()->canvas();
  ASSERT_TRUE(canvas->picture()->worst_pin.valid());
  const auto hit = FindAllocation(canvas->picture()->map, canvas->picture()->worst_pin);
  ASSERT_TRUE(hit.has_value());
  EXPECT_GT(Count(Grab(canvas), canvas->RectOf(*hit)->toRect(), theme().danger), 8);
  EXPECT_TRUE(window_.map()->SummaryText().contains(QStringLiteral("worst pin")));
}

TEST_F(OwnMapTest, AFailedRequestIsDrawnBesideTheLargestHole) {
  // 16 MiB, of which 256 KiB are free; 384 KiB were requested.
  analysis::testing::LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(analysis::Layer::kLinear, 0x7f0000000000, 16 << 20);
  log.Alloc(analysis::Layer::kSegment, 0x7f0000000000, 16 << 20);
  log.Alloc(analysis::Layer::kBlock, 0x7f0000000000 + (1 << 18), 63 << 18);
  log.AdvanceTime(1'000'000);
  log.AllocFailed(analysis::Layer::kLinear, 3 << 17, {.result = 2, .api = "cudaMalloc"});
  log.AdvanceTime(1'000'000);
  log.Free(analysis::Layer::kBlock, 0x7f0000000000 + (1 << 18));
  OpenLog(log, ViewKind::kMap);
  window_.selection().SetInstant(window_.selection().bounds().begin + 5000);
  window_.WaitUntilSettled();
  MapView* map = window_.map();
  const QString text = map->SummaryText();
  EXPECT_TRUE(text.contains(QStringLiteral("needed 384 KiB"))) << qPrintable(text);
  EXPECT_TRUE(text.contains(QStringLiteral("largest hole here is 256 KiB, 128 KiB too small")));
  const auto bar = map->canvas()->RequestRect();
  ASSERT_TRUE(bar.has_value());
  const auto hole = map->canvas()->RectOf(*FindLargestHole(map->canvas()->picture()->map));
  EXPECT_NEAR(bar->width(), hole->width() * 3 / 2, 2) << "to scale";
  EXPECT_NEAR(bar->left(), hole->left(), 1);
  EXPECT_GT(Count(Grab(map->canvas()), bar->toRect(), theme().danger),
            static_cast<int>(bar->width() * 3));
  // The link selects the instant of the failure.
  emit map->notes()->linkActivated(QStringLiteral("request"));
  window_.WaitUntilSettled();
  EXPECT_EQ(window_.selection().instant(), map->canvas()->picture()->request->time);
  EXPECT_FALSE(map->SummaryText().contains(QStringLiteral("href")));
  // At the end, a single hole is large enough.
  window_.selection().SetInstant(window_.selection().bounds().end);
  window_.WaitUntilSettled();
  EXPECT_TRUE(map->SummaryText().contains(QStringLiteral("would hold it")));
  EXPECT_TRUE(DescribeHole(*window_.document().session(), *map->canvas()->picture(), 0, 0)
                  .text.contains(QStringLiteral("the whole segment is free")));
}

TEST_F(OwnMapTest, AnInstantBeforeEverythingSaysSo) {
  analysis::testing::LogBuilder log;
  log.Device(0, 1 << 30);
  log.Step(0);
  log.AdvanceTime(1'000'000);
  log.Alloc(analysis::Layer::kLinear, 0x1000, 4096);
  OpenLog(log, ViewKind::kMap);
  EXPECT_FALSE(window_.map()->canvas()->picture()->map.segments.empty());
  window_.selection().SetInstant(window_.selection().bounds().begin);
  window_.WaitUntilSettled();
  EXPECT_TRUE(window_.map()->canvas()->picture()->map.segments.empty());
  const QImage image = Grab(window_.map()->canvas());
  EXPECT_GT(testing::TextPixels(image), 200) << "some text";
}

}  // namespace
}  // namespace memprof::viewer
