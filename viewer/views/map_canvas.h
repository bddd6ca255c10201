// The address map: segments as bars, blocks in them, holes hatched.
#pragma once

#include <QWidget>
#include <memory>
#include <optional>

#include "viewer/geometry/map_geometry.h"
#include "viewer/models/document.h"
#include "viewer/models/map_picture.h"
#include "viewer/models/selection.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

class MapCanvas : public QWidget {
  Q_OBJECT

 public:
  enum class Coloring { kSite, kAge, kSize };

  MapCanvas(Document* document, Selection* selection, QWidget* parent = nullptr);

  void SetPicture(std::shared_ptr<const MapPicture> picture);
  void SetColoring(Coloring coloring);
  // The visible height: long segments are folded to fit it.
  void SetViewHeight(int height);
  const MapPicture* picture() const { return picture_.get(); }
  const MapLayout& layout_of_map();
  QColor PieceColor(const analysis::MapPiece& piece, const Theme& theme) const;
  // The first rectangle of a hit; null if it is not drawn.
  std::optional<QRectF> RectOf(const MapHit& hit);
  // The rectangle of the failed request, to scale, from the begin of the largest hole, cut at the
  // end of its line; null without one.
  std::optional<QRectF> RequestRect();
  // Selects the piece; for a hole, the block that pins it.
  void Choose(const MapHit& hit);

 signals:
  // The description of a chosen hole; empty if something else was chosen.
  void HoleChosen(const QString& story);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void Relayout();
  void PaintBar(QPainter& painter, const MapBar& bar, const Theme& theme);
  void PaintLabel(QPainter& painter, const MapBar& bar, const Theme& theme);
  void PaintPiece(QPainter& painter, const QRectF& rect, const analysis::MapPiece& piece,
                  const Theme& theme);
  // The widest rectangle of a piece that continues over several lines.
  std::optional<QRectF> WidestRectOf(const MapHit& hit);
  void PaintFrames(QPainter& painter, const Theme& theme);
  void PaintRequest(QPainter& painter, const Theme& theme);
  // The piece `step` pieces further; stops at the ends.
  std::optional<MapHit> Neighbour(int step) const;
  double LabelWidth() const;

  Document* const document_;
  Selection* const selection_;
  std::shared_ptr<const MapPicture> picture_;
  Coloring coloring_ = Coloring::kSite;
  MapLayout layout_;
  bool dirty_ = true;
  double zoom_ = 1;
  int view_height_ = 300;
  std::optional<MapHit> hover_;
  std::optional<MapHit> chosen_;  // by mouse or keys
};

}  // namespace memprof::viewer
