// Rows and cells of tables and trees, copied as displayed.
#include "viewer/views/copy_rows.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QStandardItemModel>
#include <QTableView>
#include <QTest>
#include <QTreeView>

namespace memprof::viewer {
namespace {

constexpr int kPlain = Qt::UserRole + 1;

class CopyRowsTest : public ::testing::Test {
 protected:
  CopyRowsTest() {
    for (int row = 0; row < 2; ++row) {
      for (int column = 0; column < 4; ++column) {
        auto* item = new QStandardItem(QStringLiteral("%1%2").arg(row).arg(column));
        item->setData(QStringLiteral("plain %1%2").arg(row).arg(column), kPlain);
        model_.setItem(row, column, item);
      }
    }
    tree_.setModel(&model_);
    table_.setModel(&model_);
    QApplication::clipboard()->setText(QStringLiteral("before"));
  }
  // The clipboard after an action of a table.
  static QString Triggered(const QWidget& table, int action) {
    table.actions().at(action)->trigger();
    return QApplication::clipboard()->text();
  }

  QStandardItemModel model_{2, 4};
  QTreeView tree_;
  QTableView table_;
};

TEST_F(CopyRowsTest, ARowIsWhatIsOnScreen) {
  const QModelIndex at = model_.index(1, 2);
  EXPECT_EQ(RowText(&tree_, at), QStringLiteral("10\t11\t12\t13"));
  EXPECT_EQ(RowText(&table_, at), QStringLiteral("10\t11\t12\t13"));
  tree_.setColumnHidden(1, true);
  table_.setColumnHidden(2, true);
  EXPECT_EQ(RowText(&tree_, at), QStringLiteral("10\t12\t13"));
  EXPECT_EQ(RowText(&table_, at), QStringLiteral("10\t11\t13"));
  tree_.header()->moveSection(3, 0);
  table_.horizontalHeader()->moveSection(0, 3);
  EXPECT_EQ(RowText(&tree_, at), QStringLiteral("13\t10\t12"));
  EXPECT_EQ(RowText(&table_, at), QStringLiteral("11\t13\t10"));
  EXPECT_EQ(RowText(&table_, at, {.drawn = 3}), QStringLiteral("11\t10"));
  EXPECT_EQ(RowText(&table_, at, {.role = kPlain, .drawn = 3}),
            QStringLiteral("plain 11\tplain 10"));
}

TEST_F(CopyRowsTest, ActionsCopyTheCurrentRowOrCell) {
  AddCopyActions(&tree_);
  ASSERT_EQ(tree_.actions().size(), 2);
  EXPECT_EQ(Triggered(tree_, 0), QStringLiteral("before")) << "no row is selected";
  EXPECT_EQ(Triggered(tree_, 1), QStringLiteral("before"));
  tree_.setCurrentIndex(model_.index(1, 2));
  EXPECT_EQ(Triggered(tree_, 0), QStringLiteral("10\t11\t12\t13"));
  EXPECT_EQ(Triggered(tree_, 1), QStringLiteral("12"));
  tree_.setCurrentIndex(model_.index(0, 0));
  EXPECT_EQ(Triggered(tree_, 1), QStringLiteral("00"));
}

TEST_F(CopyRowsTest, PicturesAreNotCopied) {
  AddCopyActions(&table_, {.role = kPlain, .drawn = 1});
  table_.setCurrentIndex(model_.index(0, 1));
  EXPECT_EQ(Triggered(table_, 1), QStringLiteral("before"));
  EXPECT_EQ(Triggered(table_, 0), QStringLiteral("plain 00\tplain 02\tplain 03"));
  table_.setCurrentIndex(model_.index(0, 2));
  EXPECT_EQ(Triggered(table_, 1), QStringLiteral("plain 02"));
}

TEST_F(CopyRowsTest, TheMenuIsTheActionsWhereAViewMakesNone) {
  table_.setContextMenuPolicy(Qt::CustomContextMenu);
  AddCopyActions(&table_, {.menu = false});
  EXPECT_EQ(table_.contextMenuPolicy(), Qt::CustomContextMenu);
  AddCopyActions(&tree_);
  EXPECT_EQ(tree_.contextMenuPolicy(), Qt::ActionsContextMenu);
}

TEST_F(CopyRowsTest, CtrlCCopiesTheRowOfTheTableWithTheFocus) {
  AddCopyActions(&table_);
  table_.setCurrentIndex(model_.index(1, 0));
  table_.show();
  table_.activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&table_));
  table_.setFocus();
  QTest::keyClick(&table_, Qt::Key_C, Qt::ControlModifier);
  EXPECT_EQ(QApplication::clipboard()->text(), QStringLiteral("10\t11\t12\t13"));
}

}  // namespace
}  // namespace memprof::viewer
