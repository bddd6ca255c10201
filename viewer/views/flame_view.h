// Call sites as a flame graph, with the choice of metric and direction, and search.
#pragma once

#include <memory>

#include "viewer/jobs/job_tracker.h"
#include "viewer/views/flame_canvas.h"
#include "viewer/views/view.h"

class QComboBox;
class QLabel;
class QLineEdit;

namespace memprof::viewer {

class FlameView : public View {
  Q_OBJECT

 public:
  // What boxes are as wide as.
  enum class Choice { kLiveAtInstant, kLiveAtPeak, kAllocatedInWindow, kCountInWindow };

  FlameView(Document* document, Selection* selection, QWidget* parent = nullptr);

  FlameCanvas* canvas() const { return canvas_; }
  QLineEdit* search() const { return search_; }
  void SetChoice(Choice choice);
  void SetBottomUp(bool bottom_up);
  bool FocusSearch() override;

 protected:
  void Refresh() override { Ask(); }

 private:
  void Ask();
  void FillLayers();
  QWidget* BuildBar();
  analysis::SiteQuery Query() const;
  QString Explanation() const;

  QComboBox* layers_;
  QComboBox* choice_;
  QComboBox* direction_;
  QLineEdit* search_;
  QLabel* note_;
  FlameCanvas* canvas_;
  JobTracker job_;
};

}  // namespace memprof::viewer
