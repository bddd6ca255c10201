// The differences of two logs or moments, row by row, with the call stack of the chosen row.
#pragma once

#include <QSplitter>
#include <QTextStream>
#include <memory>

#include "viewer/jobs/job_tracker.h"
#include "viewer/models/diff_model.h"
#include "viewer/models/selection.h"
#include "viewer/models/stack_model.h"

class QAbstractItemModel;
class QLabel;
class QSortFilterProxyModel;
class QTreeView;

namespace memprof::viewer {

// Shows the call site that is selected in another view, and selects the one that is chosen here.
class DiffSites : public QSplitter {
  Q_OBJECT

 public:
  explicit DiffSites(Selection* selection, QWidget* parent = nullptr);

  // `own_is_before`: of two logs, the document's is the first. Null: nothing.
  void SetData(std::shared_ptr<const DiffData> found, bool own_is_before);

  QTreeView* table() const { return table_; }
  const DiffModel& model() const { return *model_; }
  const StackModel& stack() const { return *stack_; }
  // The rows in their sorted order.
  void WriteCsv(QTextStream* out) const;

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void BuildTable();
  void BuildStack();
  void FitColumns();
  void ShowRow(const QModelIndex& index);
  void Follow();  // the selection of another view

  Selection* const selection_;
  DiffModel* model_;
  StackModel* stack_;
  QSortFilterProxyModel* sorted_;
  QTreeView *table_, *stack_view_;
  QLabel* stack_title_;
  JobTracker stack_job_;
  bool own_is_before_ = false, following_ = false;
};

// A table of the comparison: flat, its rows can be copied.
QTreeView* MakeDiffTable(QAbstractItemModel* model, const QString& name, QWidget* parent);

}  // namespace memprof::viewer
