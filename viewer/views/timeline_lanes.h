// The lanes above the plot of the timeline: the legend, and the marks. Painted by the timeline; no
// widgets of their own.
#pragma once

#include <QFont>
#include <QPainter>
#include <QString>
#include <QStringList>
#include <functional>
#include <memory>
#include <vector>

#include "viewer/geometry/timeline_bands.h"
#include "viewer/geometry/timeline_legend.h"
#include "viewer/geometry/timeline_markers.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

// What the legend shows of a band beside its name and colour.
struct LegendMark {
  bool hidden = false;  // struck out
  bool pinned = false;  // a dot in its swatch
};

class TimelineLegend {
 public:
  // From the top of the stack to its bottom, then the notes; if bands are hidden, an entry that
  // shows all again is the first note. Long names are cut in the middle; the tooltip has the whole
  // name. `marks`: by band; may be shorter.
  void LayOut(std::shared_ptr<const TimelineBands> bands, const QStringList& notes,
              const LegendSpace& space, const QFont& font, std::vector<LegendMark> marks = {});
  double height() const { return layout_.height; }
  // `selected`: the band of the selection, -1 for none.
  void Paint(QPainter& painter, const Theme& theme, int selected) const;

  // The index of the band whose entry is there; -1 for none.
  int BandAt(QPointF point) const;
  // Whether the swatch of a band is there, or the entry that shows all bands.
  bool IsSwatch(QPointF point) const;
  bool IsShowAll(QPointF point) const;
  QString TextAt(QPointF point) const;  // rich text; "" beside entries
  std::size_t entries() const { return texts_.size(); }
  QRectF RectOf(std::size_t entry) const { return layout_.boxes[entry]; }

 private:
  int EntryAt(QPointF point) const;
  LegendMark MarkOf(std::size_t band) const {
    return band < marks_.size() ? marks_[band] : LegendMark();
  }
  void PaintBand(QPainter& painter, const Theme& theme, std::size_t entry, bool selected) const;
  std::size_t hidden() const;

  std::vector<LegendMark> marks_;
  std::shared_ptr<const TimelineBands> bands_;
  QStringList texts_;  // of bands from the top, then notes
  LegendLayout layout_;
};

class MarkerLane {
 public:
  static double Height(const std::vector<TimelineMarker>& markers, const QFont& font);
  void LayOut(std::shared_ptr<const std::vector<TimelineMarker>> markers, const TimeScale& scale,
              double top, const QFont& font);
  // Also paints the lines down the plot.
  void Paint(QPainter& painter, const QRectF& plot, const Theme& theme) const;

  // The marker at a point, or the first of several; null for none.
  const TimelineMarker* At(QPointF point) const;
  QString TextAt(QPointF point) const;
  const std::vector<MarkerBox>& boxes() const { return boxes_; }

 private:
  static constexpr double kSign = 5;  // half of a sign's width
  int BoxAt(QPointF point) const;
  QString LabelOf(const MarkerBox& box) const;
  std::function<double(const MarkerBox&)> WidthOfLabel() const;

  const TimelineMarker& marker(std::size_t i) const { return (*markers_)[i]; }

  std::shared_ptr<const std::vector<TimelineMarker>> markers_;
  std::vector<MarkerBox> boxes_;
  double left_ = 0, top_ = 0, height_ = 0;
  QFont font_;
};

}  // namespace memprof::viewer
