// Shared by the tables of functions: columns, bars, colours, keys and the menu of a row.
#pragma once

#include <QAbstractItemModel>
#include <QTextStream>
#include <QTreeView>
#include <functional>

#include "viewer/views/frame_actions.h"

class QHeaderView;

namespace memprof::viewer {

// Puts the arrow of the sorted column above its title, where it hides no title.
void StyleSortArrow(QHeaderView* header);

// A table or tree over CallTreeModel or FunctionModel.
class CallTable : public QTreeView {
  Q_OBJECT

 public:
  using TargetFunction = std::function<FrameTarget(const QModelIndex&)>;

  CallTable(Document* document, Selection* selection, QWidget* parent = nullptr);

  // Sets the model; `target` returns the frame of a row. The first column has the names.
  void SetUp(QAbstractItemModel* model, int share_role, int python_role, TargetFunction target);
  // Sorts by a column, largest first, if another column of figures was sorted.
  void SortBy(int column);

 signals:
  // Enter or a double click, if the editor is not to be opened.
  void RowChosen(const QModelIndex& index);

 public:
  // Whether Enter and double clicks open the row's source (the default) or emit RowChosen.
  void SetOpensEditor(bool opens) { opens_editor_ = opens; }

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  void Choose(const QModelIndex& index);

  Document* const document_;
  Selection* const selection_;
  TargetFunction target_;
  bool opens_editor_ = true;
};

// A frame's fields and costs as a line of CSV, as WriteCsv of the call sites view has them.
void WriteFrameCsv(QTextStream* out, const QString& relation, int depth,
                   const analysis::SourceFrame& frame, std::uint64_t bytes,
                   std::uint64_t self_bytes, std::uint64_t blocks);
// The line above them.
void WriteFrameCsvHeader(QTextStream* out);

}  // namespace memprof::viewer
