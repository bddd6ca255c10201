// The differences of two logs or moments, row by row or as an icicle, with the call stack of the
// chosen row.
#pragma once

#include <QSplitter>
#include <QTextStream>
#include <memory>

#include "viewer/jobs/job_tracker.h"
#include "viewer/models/diff_model.h"
#include "viewer/models/document.h"
#include "viewer/models/selection.h"
#include "viewer/models/stack_model.h"

class QAbstractItemModel;
class QLabel;
class QStackedWidget;
class QTabBar;
class QSortFilterProxyModel;
class QTreeView;

namespace memprof::viewer {

class DiffIcicle;

// Shows the call site that is selected in another view, and selects the one that is chosen here.
class DiffSites : public QSplitter {
  Q_OBJECT

 public:
  enum class Page { kTable, kIcicle };

  DiffSites(Document* document, Selection* selection, QWidget* parent = nullptr);

  // `own_is_before`: of two logs, the document's is the first. Null: nothing.
  void SetData(std::shared_ptr<const DiffData> found, bool own_is_before);

  void SetPage(Page page);
  Page page() const;

  QTreeView* table() const { return table_; }
  DiffIcicle* icicle() const { return icicle_; }
  const DiffModel& model() const { return *model_; }
  const StackModel& stack() const { return *stack_; }
  // The rows in their sorted order, or the nodes of the icicle.
  void WriteCsv(QTextStream* out) const;

 signals:
  void PageChanged();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void BuildTable();
  void BuildPages(Document* document);
  void BuildStack();
  void FitColumns();
  void ShowRow(const QModelIndex& index);
  void Follow();  // the selection of another view
  void ShowStack(analysis::StackId stack, bool after, const QString& title);
  void ShowOfIcicle(analysis::StackId stack, bool after);

  Selection* const selection_;
  DiffModel* model_;
  StackModel* stack_;
  QSortFilterProxyModel* sorted_;
  QTabBar* tabs_;
  QStackedWidget* pages_;  // in the order of Page
  QTreeView *table_, *stack_view_;
  DiffIcicle* icicle_;
  QLabel* stack_title_;
  JobTracker stack_job_;
  bool own_is_before_ = false, following_ = false;
};

// A table of the comparison: flat, its rows can be copied.
QTreeView* MakeDiffTable(QAbstractItemModel* model, const QString& name, QWidget* parent);

}  // namespace memprof::viewer
