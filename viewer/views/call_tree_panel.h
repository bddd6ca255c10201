// The call tree, from either end, as a table.
#pragma once

#include <QWidget>
#include <memory>

#include "viewer/models/call_tree_model.h"
#include "viewer/views/call_table.h"

namespace memprof::viewer {

class CallTreePanel : public QWidget {
  Q_OBJECT

 public:
  CallTreePanel(Document* document, Selection* selection, QWidget* parent = nullptr);

  // Keeps the current row expanded if the new tree has it. Null = nothing to show yet.
  void SetTree(std::shared_ptr<const analysis::CallTree> tree, bool by_count);
  void SetSearch(const QString& text);
  void NextMatch();
  double matched() const { return model_->matched(); }
  // Rows that are open, as they are shown.
  void WriteCsv(QTextStream* out) const;

  CallTable* table() const { return table_; }
  const CallTreeModel& model() const { return *model_; }

 private:
  void OpenTrunk();  // while there is only one child
  void Follow();     // the selection of another view
  void Select(const QModelIndex& index);
  // Function names from the root to a row, and back.
  QStringList PathTo(const QModelIndex& index) const;
  QModelIndex FindPath(const QStringList& path) const;

  Selection* const selection_;
  CallTreeModel* model_;
  CallTable* table_;
  bool following_ = false;
};

}  // namespace memprof::viewer
