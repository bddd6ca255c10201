// Holes: pools over time, and at the chosen instant the blocks that pin holes.
#pragma once

#include <QWidget>
#include <memory>

#include "viewer/models/fragmentation_picture.h"
#include "viewer/models/selection.h"

class QPushButton;
class QScrollArea;
class QTabWidget;

namespace memprof::viewer {

class FactView;
class FragmentationPlot;
class RichLabel;

class FragmentationPage : public QWidget {
  Q_OBJECT

 public:
  FragmentationPage(Document* document, Selection* selection, QWidget* parent = nullptr);

  // Requests what is missing.
  void Refresh();
  bool WriteCsv(QTextStream* out) const;
  // Goes to the instant at which most was free and pinned.
  void GoToWorst();

  FragmentationPlot* plot() const { return plot_; }
  FactView* pins() const { return pins_; }
  FactView* holes() const { return holes_; }
  QString SummaryText() const;

 protected:
  void changeEvent(QEvent* event) override;  // another theme: the texts again

 private:
  void AskPools();
  void AskHoles();
  void FillTables();
  void FillSummary();
  void Follow();

  Document* const document_;
  Selection* const selection_;
  RichLabel* summary_;
  QPushButton* worst_;
  QScrollArea* scroll_;
  FragmentationPlot* plot_;
  QTabWidget* tabs_;
  FactTable* pin_rows_;
  FactTable* hole_rows_;
  FactView* pins_;
  FactView* holes_;
  JobTracker pools_job_, holes_job_;
  std::shared_ptr<const analysis::Session> shown_;  // whose pools are shown, or requested
  std::shared_ptr<const analysis::FragmentationHistory> shown_history_;
  std::shared_ptr<analysis::Symbols> shown_symbols_;  // of the history's session
  std::shared_ptr<const PoolsPicture> pools_;
  std::shared_ptr<const HolesPicture> at_instant_;
  bool following_ = false;
};

}  // namespace memprof::viewer
