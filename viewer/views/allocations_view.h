// Allocations over time: every allocation of a device a rectangle in a lane of its own.
#pragma once

#include "viewer/views/allocations_panel.h"
#include "viewer/views/view.h"

namespace memprof::viewer {

class AllocationsView : public View {
  Q_OBJECT

 public:
  AllocationsView(Document* document, Selection* selection, QWidget* parent = nullptr);

  AllocationsPanel* panel() const { return panel_; }
  AllocationsCanvas* canvas() const { return panel_->canvas(); }
  bool WriteCsv(QTextStream* out) const override { return panel_->WriteCsv(out); }

 protected:
  void Refresh() override { panel_->Update(); }

 private:
  AllocationsPanel* panel_;
};

}  // namespace memprof::viewer
