// What all tables have in common.
#include "viewer/views/table_setup.h"

#include <gtest/gtest.h>

#include <QHeaderView>
#include <QListView>
#include <QSplitter>
#include <QStandardItemModel>
#include <QStyle>
#include <QTableView>
#include <QTreeView>

namespace memprof::viewer {
namespace {

// Texts in cells begin and end as far from the next column as those of headings do (FlatStyle()).
TEST(TableSetup, NumbersDoNotTouchTheTextBesideThem) {
  QTreeView tree;
  QTableView table;
  QListView list;
  const auto margin = [](const QWidget& view) {
    return view.style()->pixelMetric(QStyle::PM_FocusFrameHMargin, nullptr, &view) + 1;
  };
  EXPECT_EQ(margin(tree), 6);
  EXPECT_EQ(margin(table), 6);
  EXPECT_LT(margin(list), 6) << "menus and lists stay narrow";
}

class TableTest : public ::testing::Test {
 protected:
  TableTest() {
    model_.setColumnCount(4);
    model_.setHorizontalHeaderLabels({QStringLiteral("name"), QStringLiteral("first to go"),
                                      QStringLiteral("second to go"), QStringLiteral("stays")});
    for (int row = 0; row < 20; ++row) model_.appendRow(new QStandardItem(QStringLiteral("x")));
    splitter_.setOrientation(Qt::Vertical);
    splitter_.setHandleWidth(4);
    tree_ = new QTreeView(&splitter_);
    tree_->setModel(&model_);
    SetUpTable(tree_);
    tree_->setMinimumHeight(1);
    tree_->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
    tree_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    splitter_.addWidget(new QWidget(&splitter_));
    splitter_.resize(600, 500);
    splitter_.show();
  }
  QList<bool> Hidden() {
    QList<bool> hidden;
    for (int column = 0; column < 4; ++column) hidden << tree_->isColumnHidden(column);
    return hidden;
  }
  QStandardItemModel model_;
  QSplitter splitter_;
  QTreeView* tree_;
};

TEST_F(TableTest, TheUpperPartShowsWholeRows) {
  const QAbstractItemView* view = tree_;
  const int row = view->sizeHintForRow(0), heading = tree_->header()->sizeHint().height();
  for (const int most : {100, 151, 203, 260}) {
    SetUpperRows(&splitter_, tree_, 20, 2, most);
    EXPECT_EQ((tree_->height() - heading) % row, 0) << most;
    EXPECT_LE(tree_->height(), most);
    EXPECT_GT(tree_->height(), most - row);
  }
  SetUpperRows(&splitter_, tree_, 3, 2, 400);
  EXPECT_EQ(tree_->height(), heading + 3 * row) << "no more than there are";
  SetUpperRows(&splitter_, tree_, 20, 2, 10);
  EXPECT_EQ(tree_->height(), heading + 2 * row) << "but a few at least";
}

TEST_F(TableTest, ColumnsGoInTheirOrderAndComeBack) {
  HideColumns(tree_, {1, 2}, 0, 100);
  EXPECT_EQ(Hidden(), QList<bool>({false, false, false, false}));
  const QHeaderView* header = tree_->header();
  const int stays = header->sectionSizeHint(3), second = header->sectionSizeHint(2);
  splitter_.resize(100 + stays + second + 2, 500);
  HideColumns(tree_, {1, 2}, 0, 100);
  EXPECT_EQ(Hidden(), QList<bool>({false, true, false, false}));
  splitter_.resize(100, 500);
  HideColumns(tree_, {1, 2}, 0, 100);
  EXPECT_EQ(Hidden(), QList<bool>({false, true, true, false}));
  splitter_.resize(600, 500);
  HideColumns(tree_, {1, 2}, 0, 100);
  EXPECT_EQ(Hidden(), QList<bool>({false, false, false, false}));
}

}  // namespace
}  // namespace memprof::viewer
