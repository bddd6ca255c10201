// Suspected leaks by tier, and for the chosen one why it is thought to be a leak, what would
// disprove it, its survivors by birth step, and its call stack.
#pragma once

#include <QWidget>

#include "viewer/models/document.h"
#include "viewer/models/leak_model.h"
#include "viewer/models/selection.h"
#include "viewer/models/stack_model.h"

class QLabel;
class QSplitter;
class QTreeView;

namespace memprof::viewer {

class SurvivorChart;

class LeakView : public QWidget {
  Q_OBJECT

 public:
  LeakView(Document* document, Selection* selection, QWidget* parent = nullptr);

  QTreeView* table() const { return table_; }
  SurvivorChart* chart() const { return chart_; }
  const LeakModel& model() const { return *model_; }
  QString EvidenceText() const;

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void Fill();
  void FitTable();  // as high as its rows, up to a part of the view
  void Follow();    // the selection made in another view
  void ShowLeak(const QModelIndex& index);
  QWidget* BuildEvidence();

  Document* const document_;
  Selection* const selection_;
  LeakModel* model_;
  StackModel* stack_;
  QLabel* verdict_;
  QSplitter* splitter_;
  QTreeView* table_;
  QWidget* evidence_;
  QLabel* why_;
  SurvivorChart* chart_;
  QTreeView* stack_view_;
  bool following_ = false;
};

}  // namespace memprof::viewer
