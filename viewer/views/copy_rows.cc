// Copying from tables.
#include "viewer/views/copy_rows.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QTableView>
#include <QTreeView>

namespace memprof::viewer {
namespace {

const QHeaderView* HeaderOf(const QAbstractItemView* table) {
  if (const auto* tree = qobject_cast<const QTreeView*>(table)) return tree->header();
  return qobject_cast<const QTableView*>(table)->horizontalHeader();
}

}  // namespace

QString RowText(const QAbstractItemView* table, const QModelIndex& row,
                const CopyOptions& options) {
  const QHeaderView* header = HeaderOf(table);
  QStringList cells;
  for (int visual = 0; visual < header->count(); ++visual) {
    const int column = header->logicalIndex(visual);
    if (column == options.drawn || header->isSectionHidden(column)) continue;
    cells << row.siblingAtColumn(column).data(options.role).toString();
  }
  return cells.join(QLatin1Char('\t'));
}

void AddCopyActions(QAbstractItemView* table, const CopyOptions& options) {
  if (options.menu) table->setContextMenuPolicy(Qt::ActionsContextMenu);
  auto* row = new QAction(QTreeView::tr("&Copy row"), table);
  row->setShortcut(QKeySequence::Copy);
  row->setShortcutContext(Qt::WidgetShortcut);
  QObject::connect(row, &QAction::triggered, table, [table, options] {
    const QModelIndex current = table->currentIndex();
    if (current.isValid()) QApplication::clipboard()->setText(RowText(table, current, options));
  });
  auto* cell = new QAction(QTreeView::tr("Copy c&ell"), table);
  QObject::connect(cell, &QAction::triggered, table, [table, options] {
    const QModelIndex current = table->currentIndex();
    if (current.isValid() && current.column() != options.drawn)
      QApplication::clipboard()->setText(current.data(options.role).toString());
  });
  table->addAction(row);
  table->addAction(cell);
}

}  // namespace memprof::viewer
