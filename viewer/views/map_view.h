// The address map with its summary line, legend and choice of colours.
#pragma once

#include <QWidget>

#include "viewer/jobs/job_tracker.h"
#include "viewer/models/document.h"
#include "viewer/models/selection.h"
#include "viewer/views/map_canvas.h"

class QComboBox;
class QLabel;
class QScrollArea;

namespace memprof::viewer {

class MapView : public QWidget {
  Q_OBJECT

 public:
  MapView(Document* document, Selection* selection, QWidget* parent = nullptr);

  MapCanvas* canvas() const { return canvas_; }
  QString SummaryText() const;

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void Ask();
  void Show(std::shared_ptr<const MapPicture> picture);
  void FillLegend();

  Document* const document_;
  Selection* const selection_;
  QLabel* summary_;
  QComboBox* coloring_;
  QLabel* legend_;
  QScrollArea* scroll_;
  MapCanvas* canvas_;
  JobTracker job_;
};

}  // namespace memprof::viewer
