// The lane of named ranges above the timeline: boxes by nesting, with names and tooltips. Painted
// by the timeline; no widget of its own.
#pragma once

#include <QPainter>
#include <QPointF>
#include <QRectF>
#include <QString>
#include <optional>

#include "viewer/geometry/range_lanes.h"
#include "viewer/models/document.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

class RangeLane {
 public:
  static constexpr int kMaxRows = 5;

  // The source of the memory in TextAt and of names; must outlive the lane.
  RangeLane(const Document* document, const Selection* selection)
      : document_(document), selection_(selection) {}

  // Resets for another log of the document, or none.
  void Reset();
  // The height of the log's ranges; 0 without ranges.
  double Height(const QFont& font) const;
  // Lays out for a scale, with rows from `top` down. Cheap if nothing has changed.
  void LayOut(const TimeScale& scale, double top, const QFont& font);
  void Paint(QPainter& painter, const Theme& theme) const;

  const RangeLanes& lanes() const { return lanes_; }
  QRectF RectOf(const RangeBox& box) const;
  // The tooltip of a range: name, thread, time, and what memory did in it; rich text. "" outside of
  // boxes.
  QString TextAt(QPointF point) const;
  // The window of the range or ranges at a point.
  std::optional<analysis::TimeWindow> RangeAt(QPointF point) const;
  // The colour of a name, the same everywhere.
  static QColor Color(const QString& name, const Theme& theme);

 private:
  const RangeBox* BoxAt(QPointF point) const;
  QString NameOf(const RangeBox& box) const;
  analysis::TimeWindow WindowOf(const RangeBox& box) const;

  const Document* const document_;
  const Selection* const selection_;
  RangeIndex index_;
  RangeLanes lanes_;
  TimeScale scale_;
  bool laid_out_ = false;
  double top_ = 0, row_ = 0;
};

}  // namespace memprof::viewer
