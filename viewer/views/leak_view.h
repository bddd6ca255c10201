// Suspected leaks by tier, and for the chosen one why it is thought to be a leak, what would
// disprove it, its survivors by birth step, and its call stack.
#pragma once

#include "viewer/models/leak_model.h"
#include "viewer/models/stack_model.h"
#include "viewer/views/view.h"

class QLabel;
class QSplitter;
class QTreeView;

namespace memprof::viewer {

class SurvivorChart;

class LeakView : public View {
  Q_OBJECT

 public:
  LeakView(Document* document, Selection* selection, QWidget* parent = nullptr);

  QTreeView* table() const { return table_; }
  SurvivorChart* chart() const { return chart_; }
  const LeakModel& model() const { return *model_; }
  QString EvidenceText() const;
  // It shows stacks and evidence itself.
  bool wants_details() const override { return false; }

 protected:
  void Refresh() override {}  // the model follows the report at once: nothing is computed
  void resizeEvent(QResizeEvent* event) override;

 private:
  void Fill();
  void FitTable();  // as high as its rows, up to a part of the view
  void Follow();    // the selection made in another view
  void ShowLeak(const QModelIndex& index);
  QWidget* BuildEvidence();

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
