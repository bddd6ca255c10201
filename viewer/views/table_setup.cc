// Common settings of tables.
#include "viewer/views/table_setup.h"

#include <QHeaderView>
#include <QPainter>
#include <QProxyStyle>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QStyleFactory>
#include <QStyleOption>
#include <QTableView>
#include <QTreeView>
#include <algorithm>
#include <vector>

#include "viewer/geometry/line_fit.h"
#include "viewer/views/bar_delegate.h"
#include "viewer/views/copy_rows.h"

namespace memprof::viewer {
namespace {

constexpr int kCellMargin = 6;  // at both sides; that of headings is in FlatStyle()

class ViewerStyle : public QProxyStyle {
 public:
  using QProxyStyle::QProxyStyle;

  // Fusion's outlines are darker than the window, which in the dark theme cannot be seen.
  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override {
    QProxyStyle::drawPrimitive(element, option, painter, widget);
    const bool outlined = element == PE_IndicatorCheckBox ||
                          element == PE_IndicatorItemViewItemCheck || element == PE_FrameLineEdit;
    if (!outlined || option->state.testFlag(State_HasFocus)) return;
    painter->save();
    painter->setPen(option->palette.color(QPalette::Mid));
    painter->setBrush(Qt::NoBrush);
    painter->drawRect(option->rect.adjusted(0, 0, -1, -1));
    painter->restore();
  }

  int pixelMetric(PixelMetric metric, const QStyleOption* option,
                  const QWidget* widget) const override {
    // Views of items leave one pixel more than this at both sides of a text.
    const bool table =
        metric == PM_FocusFrameHMargin && (qobject_cast<const QTreeView*>(widget) != nullptr ||
                                           qobject_cast<const QTableView*>(widget) != nullptr);
    return table ? kCellMargin - 1 : QProxyStyle::pixelMetric(metric, option, widget);
  }
};

}  // namespace

QStyle* MakeStyle() { return new ViewerStyle(QStyleFactory::create(QStringLiteral("Fusion"))); }

void SetUpTable(QTreeView* table) {
  table->setUniformRowHeights(true);
  table->setAlternatingRowColors(true);
  table->setFrameShape(QFrame::NoFrame);
  table->setAllColumnsShowFocus(true);
  table->setTextElideMode(Qt::ElideMiddle);
  table->header()->setStretchLastSection(false);
  table->header()->setTextElideMode(Qt::ElideRight);
}

void SetUpTable(QTreeView* table, int share_role) {
  SetUpTable(table);
  table->setTextElideMode(Qt::ElideRight);
  table->setItemDelegate(new BarDelegate(share_role, table));
  table->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
}

void SetUpTable(QTreeView* table, QSortFilterProxyModel* sorted, const QString& name) {
  table->setModel(sorted);
  SetUpTable(table);
  table->setRootIsDecorated(false);
  table->setAccessibleName(name);
  table->setSortingEnabled(true);
  table->sortByColumn(-1, Qt::AscendingOrder);
  AddCopyActions(table);
}

void SetUpTable(QTableView* table, const QString& name) {
  table->setAccessibleName(name);
  table->setFrameShape(QFrame::NoFrame);
  table->setShowGrid(false);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setSelectionMode(QAbstractItemView::SingleSelection);
  table->setTextElideMode(Qt::ElideMiddle);
  table->setTabKeyNavigation(false);
  table->setCornerButtonEnabled(false);
  table->verticalHeader()->setVisible(false);
  table->horizontalHeader()->setTextElideMode(Qt::ElideRight);
}

void HideColumns(QTreeView* table, std::initializer_list<int> first_to_go, int wide, int least) {
  const QHeaderView* header = table->header();
  const QAbstractItemView* view = table;
  for (const int column : first_to_go) table->setColumnHidden(column, false);
  const auto width = [&](int column) {
    if (column == wide) return least;
    const bool whole = header->sectionResizeMode(column) == QHeaderView::ResizeToContents;
    return std::max(whole ? view->sizeHintForColumn(column) : 0, header->sectionSizeHint(column));
  };
  int all = 0;
  for (int column = 0; column < header->count(); ++column)
    if (!header->isSectionHidden(column)) all += width(column);
  std::vector<int> may_go;
  for (const int column : first_to_go) may_go.push_back(width(column));
  const std::size_t gone = ColumnsToGo(all, may_go, table->viewport()->width());
  for (std::size_t i = 0; i < gone; ++i) table->setColumnHidden(first_to_go.begin()[i], true);
}

void FitNames(QTreeView* table, int column) {
  constexpr int kLetters = 72;
  QHeaderView* header = table->header();
  header->setSectionResizeMode(column, QHeaderView::Interactive);
  int room = table->viewport()->width();
  for (int other = 0; other < header->count(); ++other)
    if (other != column && !header->isSectionHidden(other)) room -= header->sectionSize(other);
  const QAbstractItemView* view = table;
  const int wanted = std::max(view->sizeHintForColumn(column) + table->indentation(),
                              kLetters * table->fontMetrics().averageCharWidth());
  header->resizeSection(column, std::max(header->minimumSectionSize(), std::min(room, wanted)));
}

void SetUpperRows(QSplitter* splitter, const QTreeView* table, int rows, int least, int most) {
  const QAbstractItemView* view = table;
  const int row = std::max(
      1, view->sizeHintForRow(0) > 0 ? view->sizeHintForRow(0) : table->fontMetrics().height() + 8);
  const int heading = table->header()->sizeHint().height();
  const int shown = std::clamp((most - heading) / row, least, std::max(least, rows));
  const int upper = heading + shown * row;
  // Sizes that add up to another sum would be scaled.
  splitter->setSizes({upper, std::max(1, splitter->height() - splitter->handleWidth() - upper)});
}

}  // namespace memprof::viewer
