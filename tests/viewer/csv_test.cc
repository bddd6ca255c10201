// Rows of tables as comma-separated values.
#include "viewer/views/csv.h"

#include <gtest/gtest.h>

#include <QStandardItemModel>

namespace memprof::viewer {
namespace {

constexpr int kPlainRole = Qt::UserRole + 1;

TEST(Csv, FieldsAreQuotedWhereTheyMust) {
  QString text;
  QTextStream out(&text);
  WriteCsvLine(&out,
               {QStringLiteral("a,b"), QString(), QStringLiteral("c\"d"), QStringLiteral("plain")});
  WriteCsvLine(&out, {});
  out.flush();
  EXPECT_EQ(text, QStringLiteral("\"a,b\",,\"c\"\"d\",plain\n\n"));
}

TEST(Csv, RowsAreWhatThePlainRoleSays) {
  QStandardItemModel model(2, 3);
  model.setHeaderData(0, Qt::Horizontal, QStringLiteral("bytes, all"), kPlainRole);
  model.setHeaderData(2, Qt::Horizontal, QStringLiteral("name"), kPlainRole);
  for (int row = 0; row < 2; ++row) {
    for (int column = 0; column < 3; ++column) {
      const QModelIndex at = model.index(row, column);
      model.setData(at, QStringLiteral("shown"), Qt::DisplayRole);
      model.setData(at, 10 * row + column, kPlainRole);
    }
  }
  QString text;
  QTextStream out(&text);
  EXPECT_TRUE(WriteCsvRows(&out, model, kPlainRole));
  out.flush();
  EXPECT_EQ(text, QStringLiteral("\"bytes, all\",name\n0,2\n10,12\n"))
      << "the column without a heading is a picture";
  model.removeRows(0, 2);
  EXPECT_FALSE(WriteCsvRows(&out, model, kPlainRole));
}

}  // namespace
}  // namespace memprof::viewer
