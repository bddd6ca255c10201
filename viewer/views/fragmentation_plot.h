// Pools over time, a lane each: memory in use, free memory in segments, the largest hole, and below
// it the share that is free and pinned.
#pragma once

#include <memory>
#include <vector>

#include "viewer/models/fragmentation_picture.h"
#include "viewer/views/plot.h"

namespace memprof::viewer {

class FragmentationPlot : public TimePlot {
  Q_OBJECT

 public:
  FragmentationPlot(Document* document, Selection* selection, QWidget* parent = nullptr);

  void SetPicture(std::shared_ptr<const PoolsPicture> picture);
  void SetProgress(double share);
  // Lanes of the chosen device.
  int lanes() const { return static_cast<int>(lanes_.size()); }
  QRectF LaneRect(int lane) const;
  QRectF PlotRect() const override;
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  bool ready() const override { return picture_ != nullptr && !lanes_.empty(); }
  void PaintContent(QPainter& painter, const TimeScale& scale, const Theme& theme) override;
  QStringList Readout(analysis::TimeNs time, QPointF at) const override;
  QString Waiting() const override;

 private:
  // Called for each painted lane; computed once, because there may be very many pools.
  void FindLanes();
  void PaintLegend(QPainter& painter, const Theme& theme) const;
  void PaintLane(QPainter& painter, int lane, const TimeScale& scale, const Theme& theme);
  void PaintWorst(QPainter& painter, const analysis::PoolTimeline& pool, const QRectF& plot,
                  const TimeScale& scale, const Theme& theme) const;
  double TitleHeight() const;

  std::shared_ptr<const PoolsPicture> picture_;
  std::vector<std::size_t> lanes_;  // pools of the picture on the chosen device
  double progress_ = 0;
  std::vector<PoolColumns> columns_;  // by pool of the picture
};

}  // namespace memprof::viewer
