// Copying from tables.
#include "viewer/views/copy_rows.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QTreeView>

namespace memprof::viewer {

void AddCopyActions(QTreeView* table) {
  table->setContextMenuPolicy(Qt::ActionsContextMenu);
  auto* row = new QAction(QTreeView::tr("&Copy row"), table);
  row->setShortcut(QKeySequence::Copy);
  row->setShortcutContext(Qt::WidgetShortcut);
  QObject::connect(row, &QAction::triggered, table, [table] {
    const QModelIndex current = table->currentIndex();
    if (!current.isValid()) return;
    QStringList cells;
    for (int visual = 0; visual < table->header()->count(); ++visual) {
      const int column = table->header()->logicalIndex(visual);
      cells << current.siblingAtColumn(column).data().toString();
    }
    QApplication::clipboard()->setText(cells.join(QLatin1Char('\t')));
  });
  auto* cell = new QAction(QTreeView::tr("Copy c&ell"), table);
  QObject::connect(cell, &QAction::triggered, table, [table] {
    const QModelIndex current = table->currentIndex();
    if (current.isValid()) QApplication::clipboard()->setText(current.data().toString());
  });
  table->addAction(row);
  table->addAction(cell);
}

}  // namespace memprof::viewer
