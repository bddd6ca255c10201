// The address map as it is drawn: every piece in its colour, the hole, the pin, the selection.
#include "viewer/views/map_view.h"

#include <gtest/gtest.h>

#include <QComboBox>
#include <QLabel>

#include "tests/viewer/window_fixture.h"

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

  // Pieces that are drawn at least this wide.
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

  // Where no label, mark or frame is: near the lower left corner of a piece.
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
    EXPECT_TRUE(Near(Corner(image, hit), theme().Categorical(rank)))
        << "segment " << hit.segment << " piece " << hit.piece;
    ++checked;
  }
  EXPECT_GT(checked, 20);
}

TEST_F(MapTest, HolesAreHatchedAndTheLargestIsFramed) {
  // After the activations are gone there are holes.
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
  // Another block of the same site has a thin frame, one of another site none.
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
  // A click beside everything clears, as Escape does.
  QTest::mouseClick(canvas_, Qt::LeftButton, {}, QPoint(2, canvas_->height() - 2));
  EXPECT_FALSE(window_.selection().site().valid());
}

TEST_F(MapTest, ColoursCanMeanAgeOrSize) {
  auto* choice = window_.map()->findChild<QComboBox*>();
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
  // By size, the largest block is at the end of the ramp and a small one is not.
  for (const MapHit& hit : WidePieces(1)) {
    const analysis::MapPiece& piece = PieceOf(hit);
    if (piece.hole()) continue;
    EXPECT_EQ(canvas_->PieceColor(piece, theme()) == theme().Ramp(1),
              piece.bytes == canvas_->picture()->largest_block);
  }
  choice->setCurrentIndex(1);
  // By age, what was born first is as old as the recording.
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

TEST_F(MapTest, TheMouseTellsWhatLiesThere) {
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
      << "what no longer fits scrolls";
  testing::Wheel(canvas_, {200, 50}, {0, -1200}, Qt::ControlModifier);
  EXPECT_NEAR(canvas_->layout_of_map().bytes_per_pixel, before, before * 1e-6) << "all, not less";
}

TEST_F(MapTest, FillsTheView) {
  const double height = canvas_->parentWidget()->height();
  EXPECT_LE(canvas_->layout_of_map().content_height, height + 0.01);
  EXPECT_GT(canvas_->layout_of_map().content_height, 0.7 * height);
}

class OwnMapTest : public testing::WindowFixture {};

TEST_F(OwnMapTest, APinIsMarked) {
  // A small block in the middle of a segment that is free otherwise.
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
  EXPECT_GT(Count(image, image.rect(), theme().muted), 20) << "a sentence";
}

}  // namespace
}  // namespace memprof::viewer
