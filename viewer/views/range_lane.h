// The lane of named ranges above the timeline: boxes by nesting, with names and tooltips. Painted
// and asked by the timeline; no widget of its own.
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

  // What TextAt counts memory of, and where names are looked up; must outlive the lane.
  RangeLane(const Document* document, const Selection* selection)
      : document_(document), selection_(selection) {}

  // Starts over with the document's log: another one is open, or none.
  void Reset();
  // Height that the log's ranges need; 0 without ranges.
  double Height(const QFont& font) const;
  // Lays out for a scale, with rows from `top` down. Cheap when nothing changed.
  void LayOut(const TimeScale& scale, double top, const QFont& font);
  void Paint(QPainter& painter, const Theme& theme) const;

  const RangeLanes& lanes() const { return lanes_; }
  QRectF RectOf(const RangeBox& box) const;
  // What a range is: name, thread, when, and what memory did in it; rich text. "" beside boxes.
  QString TextAt(QPointF point) const;
  // The window of the range, or of the ranges, at a point.
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
