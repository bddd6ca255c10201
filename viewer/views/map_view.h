// The address map: the layout at the chosen instant with summary, legend and choice of colours, or
// the memory at each address over time.
#pragma once

#include "viewer/jobs/job_tracker.h"
#include "viewer/views/allocations_panel.h"
#include "viewer/views/map_canvas.h"
#include "viewer/views/view.h"

class QComboBox;
class QLabel;
class QScrollArea;
class QStackedWidget;

namespace memprof::viewer {

class RichLabel;

class MapView : public View {
  Q_OBJECT

 public:
  MapView(Document* document, Selection* selection, QWidget* parent = nullptr);

  // In the order of the choice.
  enum class Mode { kInstant, kOverTime };

  Mode mode() const;
  void SetMode(Mode mode);
  MapCanvas* canvas() const { return canvas_; }
  AllocationsPanel* over_time() const { return over_time_; }
  QComboBox* coloring() const { return coloring_; }
  QString SummaryText() const;  // with the notes
  RichLabel* notes() const { return notes_; }
  QString HoleText() const;
  bool WriteCsv(QTextStream* out) const override;
  ViewState State() const override;  // the page
  void SetState(const ViewState& state) override;

 protected:
  void Refresh() override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Made {
    std::shared_ptr<const MapPicture> picture;
    std::shared_ptr<const std::vector<analysis::FailedRequest>> failures;
  };

  QWidget* BuildInstant();
  QComboBox* MakeModeChoice(QWidget* parent);
  void Ask();
  void Show(std::shared_ptr<const MapPicture> picture);
  void FillLegend();

  QStackedWidget* pages_;                 // in the order of Mode
  std::vector<QComboBox*> mode_choices_;  // one in each page
  AllocationsPanel* over_time_;
  RichLabel* summary_;
  RichLabel* notes_;  // pins, and the failed request
  QLabel* hole_;
  QComboBox* coloring_;
  RichLabel* legend_;
  QScrollArea* scroll_;
  MapCanvas* canvas_;
  std::weak_ptr<const analysis::Session> failures_of_;
  std::shared_ptr<const std::vector<analysis::FailedRequest>> failures_;
  JobTracker job_;
};

}  // namespace memprof::viewer
