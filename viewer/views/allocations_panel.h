// The picture of all allocations with its summary line, the choice of colours and their legend.
#pragma once

#include <QTextStream>
#include <QWidget>
#include <functional>

#include "viewer/views/allocations_canvas.h"

class QComboBox;
class QHBoxLayout;

namespace memprof::viewer {

class RichLabel;

class AllocationsPanel : public QWidget {
  Q_OBJECT

 public:
  // Calls `changed` when Update() is needed, which the view calls while it is visible.
  AllocationsPanel(Document* document, Selection* selection, AllocationsCanvas::Layout layout,
                   const std::function<void()>& changed, QWidget* parent = nullptr);

  AllocationsCanvas* canvas() const { return canvas_; }
  QComboBox* coloring() const { return coloring_; }
  QString SummaryText() const;
  QString LegendText() const;

  // Puts a widget beside the choice of colours.
  void AddControl(QWidget* widget);
  void Update() { canvas_->Update(); }
  // The allocations of the window that pass the filter, in order of birth.
  bool WriteCsv(QTextStream* out) const;

 private:
  void ShowWords();

  Document* const document_;
  Selection* const selection_;
  QHBoxLayout* row_;
  RichLabel* summary_;
  QComboBox* coloring_;
  RichLabel* legend_;
  AllocationsCanvas* canvas_;
};

}  // namespace memprof::viewer
