// Shared by the tables of functions.
#include "viewer/views/call_table.h"

#include <QContextMenuEvent>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <utility>

#include "viewer/geometry/units.h"
#include "viewer/models/call_tree_model.h"
#include "viewer/views/bar_delegate.h"
#include "viewer/views/copy_rows.h"
#include "viewer/views/frame_delegate.h"
#include "viewer/views/table_setup.h"
#include "viewer/views/theme.h"
#include "viewer/views/view.h"

namespace memprof::viewer {

void StyleSortArrow(QHeaderView* header) {
  header->setStyleSheet(
      QStringLiteral("QHeaderView::up-arrow, QHeaderView::down-arrow { width: 9px; height: 6px;"
                     " subcontrol-origin: padding; subcontrol-position: top center; }"));
}

CallTable::CallTable(Document* document, Selection* selection, QWidget* parent)
    : QTreeView(parent), document_(document), selection_(selection) {
  SetUpTable(this);
  AddCopyActions(this, {.menu = false});
  setSortingEnabled(true);
  setExpandsOnDoubleClick(false);
}

void CallTable::SetUp(QAbstractItemModel* model, int share_role, int python_role,
                      TargetFunction target) {
  target_ = std::move(target);
  header()->setSortIndicator(CallTreeModel::kInclusive, Qt::DescendingOrder);
  setModel(model);
  setItemDelegate(new BarDelegate(share_role, this));
  setItemDelegateForColumn(0, new FrameDelegate(python_role, this));
  StyleSortArrow(header());
  header()->setSectionResizeMode(QHeaderView::Interactive);
  header()->setSectionResizeMode(0, QHeaderView::Stretch);
  const auto width = [this](const char* text) {
    return fontMetrics().horizontalAdvance(QString::fromUtf8(text)) + 3 * kSpace;
  };
  header()->resizeSection(CallTreeModel::kInclusive, width("0000 MiB"));
  header()->resizeSection(CallTreeModel::kSelf, width("0000 MiB"));
  header()->resizeSection(CallTreeModel::kBlocks, width("Allocations"));
  header()->resizeSection(CallTreeModel::kPlace, width("caching_allocator.cc:000"));
}

void CallTable::SortBy(int column) {
  const int now = header()->sortIndicatorSection();
  const bool figures = now == CallTreeModel::kInclusive || now == CallTreeModel::kBlocks;
  if (figures && now != column) sortByColumn(column, Qt::DescendingOrder);
}

void CallTable::Choose(const QModelIndex& index) {
  if (!index.isValid()) return;
  if (opens_editor_)
    OpenInEditor(this, *document_, target_(index).frame);
  else
    emit RowChosen(index);
}

void CallTable::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
    Choose(currentIndex());
  } else {
    QTreeView::keyPressEvent(event);
  }
}

void CallTable::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) Choose(indexAt(event->position().toPoint()));
}

void CallTable::contextMenuEvent(QContextMenuEvent* event) {
  // From the keyboard the menu belongs to the current row.
  const bool keyboard = event->reason() == QContextMenuEvent::Keyboard;
  const QModelIndex index = keyboard ? currentIndex() : indexAt(event->pos());
  if (!index.isValid()) return;
  QMenu menu(this);
  AddFrameActions(&menu, this, document_, selection_, target_(index));
  menu.addSeparator();
  menu.addActions(actions());
  if (model()->hasChildren(index))
    menu.addAction(tr("&Expand three levels"), this,
                   [this, index] { expandRecursively(index, 2); });
  menu.exec(keyboard ? viewport()->mapToGlobal(visualRect(index).bottomLeft())
                     : event->globalPos());
}

void WriteFrameCsvHeader(QTextStream* out) {
  *out << "relation,depth,function,file,line,module,language,bytes,self_bytes,allocations\n";
}

void WriteFrameCsv(QTextStream* out, const QString& relation, int depth,
                   const analysis::SourceFrame& frame, std::uint64_t bytes,
                   std::uint64_t self_bytes, std::uint64_t blocks) {
  *out << relation << ',' << depth << ',' << CsvField(ToQString(frame.function)) << ','
       << CsvField(ToQString(frame.file)) << ',' << frame.line << ','
       << CsvField(ToQString(frame.module)) << ',' << (frame.python ? "python" : "native") << ','
       << bytes << ',' << self_bytes << ',' << blocks << '\n';
}

}  // namespace memprof::viewer
