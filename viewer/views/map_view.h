// The address map with its summary line, legend and choice of colours.
#pragma once

#include "viewer/jobs/job_tracker.h"
#include "viewer/views/map_canvas.h"
#include "viewer/views/view.h"

class QComboBox;
class QLabel;
class QScrollArea;

namespace memprof::viewer {

class MapView : public View {
  Q_OBJECT

 public:
  MapView(Document* document, Selection* selection, QWidget* parent = nullptr);

  MapCanvas* canvas() const { return canvas_; }
  QString SummaryText() const;

 protected:
  void Refresh() override { Ask(); }
  void resizeEvent(QResizeEvent* event) override;

 private:
  void Ask();
  void Show(std::shared_ptr<const MapPicture> picture);
  void FillLegend();

  QLabel* summary_;
  QComboBox* coloring_;
  QLabel* legend_;
  QScrollArea* scroll_;
  MapCanvas* canvas_;
  JobTracker job_;
};

}  // namespace memprof::viewer
