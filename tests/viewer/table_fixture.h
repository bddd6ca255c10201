// Shared by tests of tables: models as text, and clicks on cells.
#pragma once

#include <gtest/gtest.h>

#include <QAbstractItemModel>
#include <QString>
#include <QStringList>
#include <QTableView>
#include <QTest>
#include <QTextStream>

#include "viewer/views/view.h"

namespace memprof::viewer::testing {

// One line for each row, the chosen columns separated by |.
inline QStringList PrintColumns(const QAbstractItemModel& model, const QList<int>& columns,
                                int rows = -1) {
  QStringList lines;
  for (int row = 0; row < model.rowCount() && row != rows; ++row) {
    QStringList cells;
    for (const int column : columns) cells << model.index(row, column).data().toString();
    lines << cells.join(QLatin1Char('|'));
  }
  return lines;
}

inline void ClickCell(QTableView* table, int row, int column) {
  const QModelIndex index = table->model()->index(row, column);
  table->scrollTo(index);
  QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(index).center());
}

inline QString Csv(const View& view) {
  QString text;
  QTextStream out(&text);
  EXPECT_TRUE(view.WriteCsv(&out));
  out.flush();
  return text;
}

}  // namespace memprof::viewer::testing
