// The tree of holders beside stacks: in the details, with leaks, and on the page of failures.
#include "viewer/views/holder_view.h"

#include <gtest/gtest.h>

#include <QClipboard>
#include <QGuiApplication>
#include <QMessageBox>
#include <QTabWidget>
#include <QTreeView>

#include "tests/viewer/held_log.h"
#include "tests/viewer/model_fixture.h"
#include "tests/viewer/panel_fixture.h"
#include "viewer/views/fragmentation_view.h"
#include "viewer/views/leak_view.h"
#include "viewer/views/oom_page.h"

namespace memprof::viewer {
namespace {

using analysis::AllocationId;
using testing::HeldLog;
using testing::PanelTest;
using testing::Print;
using testing::S;
using Kind = analysis::HolderKind;

constexpr char kList[] =
    "list `m.p` (global `m`, train.py:10)\nglobal `m`, train.py:10\nM `m`\nlist `m.p`";
constexpr std::uint32_t kFirstBlock = 2;  // after driver memory and segment

class HolderViewTest : public PanelTest {
 protected:
  void Select(std::uint32_t allocation) {
    const AllocationId id(allocation);
    window_.selection().SelectAllocation(id, window_.document().session()->record(id).stack);
    window_.WaitUntilSettled();
  }
  const HolderView& holders() { return details()->holders(); }

  HeldLog log_;
};

TEST_F(HolderViewTest, DetailsShowWhatHoldsABlock) {
  log_.Block(0);
  log_.Tensor(0);
  log_.Held(0, Kind::kPython, kList);
  log_.EndLook();
  log_.Block(1);
  OpenLog(log_.log());
  EXPECT_FALSE(holders().isVisible()) << "nothing is selected";
  for (const std::uint32_t id : {kFirstBlock, kFirstBlock + 1}) {  // the block, and its tensor
    Select(id);
    ASSERT_TRUE(holders().tree()->isVisible());
    const QStringList rows = Print(holders().model());
    ASSERT_EQ(rows.size(), 4);
    EXPECT_TRUE(rows[0].contains(S("kept"))) << qPrintable(rows[0]);
    EXPECT_TRUE(rows[3].startsWith(S("      Python: global m, train.py:10")));
    EXPECT_TRUE(holders().tree()->isColumnHidden(HolderModel::kBytes)) << "one block";
    const QModelIndex first = holders().model().index(0, 0);
    EXPECT_TRUE(holders().tree()->isExpanded(holders().model().index(0, 0, first)));
    EXPECT_EQ(holders().tree()->accessibleName(), S("Held by"));
  }
  Select(kFirstBlock + 2);
  EXPECT_FALSE(holders().tree()->isVisible());
  EXPECT_TRUE(holders().isVisible());
  EXPECT_TRUE(holders().Line().contains(S("born after the last look")));
  for (const std::uint32_t driver : {0u, 1u}) {
    Select(driver);
    EXPECT_FALSE(holders().isVisible()) << driver;
  }
  QTest::keyClick(&window_, Qt::Key_Escape);
  EXPECT_FALSE(holders().isVisible());
}

TEST_F(HolderViewTest, NothingIsSaidOfALogWithoutLooks) {
  log_.Block(0);
  OpenLog(log_.log());
  Select(kFirstBlock);
  EXPECT_FALSE(holders().isVisible());
  window_.ShowView(ViewKind::kLeaks);
  window_.WaitUntilSettled();
  EXPECT_FALSE(window_.leaks()->holders().isVisible());
}

TEST_F(HolderViewTest, KeysCopyOpenAndExpand) {
  log_.Block(0);
  log_.Held(0, Kind::kPython, kList);
  log_.EndLook();
  OpenLog(log_.log());
  Select(kFirstBlock);
  QTreeView* tree = holders().tree();
  const QModelIndex top = holders().model().index(0, 0);
  tree->setFocus();
  tree->setCurrentIndex(top);
  const int expanded = tree->height();
  QTest::keyClick(tree, Qt::Key_Return);
  EXPECT_FALSE(tree->isExpanded(top));
  window_.WaitUntilSettled();
  QCoreApplication::processEvents();
  EXPECT_LT(tree->height(), expanded) << "as high as its rows";
  QTest::keyClick(tree, Qt::Key_Return);
  EXPECT_TRUE(tree->isExpanded(top));
  QModelIndex end = top;
  while (holders().model().hasChildren(end)) end = holders().model().index(0, 0, end);
  tree->setCurrentIndex(end);
  QTest::keyClick(tree, Qt::Key_C, Qt::ControlModifier);
  EXPECT_EQ(QGuiApplication::clipboard()->text(), S("list `m.p` (global `m`, train.py:10)"));
  QTest::keyClick(tree, Qt::Key_Return);
  const auto* box = details()->findChild<QMessageBox*>();
  ASSERT_NE(box, nullptr) << "the source of the test's log does not exist";
  EXPECT_TRUE(box->text().startsWith(S("/src/train.py"))) << qPrintable(box->text());
}

TEST_F(HolderViewTest, LeaksHaveFiguresWhereTheyDiffer) {
  for (int i = 0; i < 3; ++i) log_.Block(i);
  log_.Held(0, Kind::kPython, kList);
  log_.Held(1, Kind::kPython, kList);
  log_.EndLook();
  OpenLog(log_.log(), ViewKind::kLeaks);
  const HolderView& shown = window_.leaks()->holders();
  ASSERT_TRUE(shown.tree()->isVisible());
  EXPECT_EQ(Print(shown.model()),
            testing::Lines({"3 blocks, 3.00 MiB|3.00 MiB|3", "  list m.p|2.00 MiB|2",
                            "    M m|2.00 MiB|2", "      Python: global m, train.py:10|2.00 MiB|2",
                            "  no look found what holds the rest|1.00 MiB|1"}));
  EXPECT_FALSE(shown.tree()->isColumnHidden(HolderModel::kBytes));
}

TEST_F(HolderViewTest, ALeakThatNoLookFoundSaysSo) {
  log_.Block(0);
  log_.EndLook();
  OpenLog(log_.log(), ViewKind::kLeaks);
  EXPECT_EQ(window_.leaks()->holders().Line(), S("Held by: no look found what holds it"));
  EXPECT_TRUE(window_.leaks()->holders().isVisible());
}

TEST_F(HolderViewTest, OfManyHoldersTheLargestIsShownFirst) {
  for (int i = 0; i < 20; ++i) {
    log_.Block(i);
    const std::string name = std::to_string(i % 19);
    log_.Held(i, Kind::kPython, "p" + name + "\nr" + name + "\nM\nlist" + name);
  }
  log_.EndLook();
  OpenLog(log_.log(), ViewKind::kLeaks);
  const HolderView& shown = window_.leaks()->holders();
  const QModelIndex top = shown.model().index(0, 0);
  const QModelIndex largest = shown.model().index(0, 0, top);
  EXPECT_EQ(largest.data().toString(), S("list0"));
  EXPECT_TRUE(shown.tree()->isExpanded(largest));
  EXPECT_FALSE(shown.tree()->isExpanded(shown.model().index(1, 0, top)));
}

TEST_F(HolderViewTest, FailuresHaveAPageOfThem) {
  log_.Block(0);
  log_.Held(0, Kind::kPython, kList);
  log_.EndLook();
  log_.log().AllocFailed(analysis::Layer::kLinear, 60 * analysis::kMiB, {.result = 2});
  OpenLog(log_.log(), ViewKind::kFragmentation);
  OomPage* page = window_.findChild<OomPage*>();
  ASSERT_NE(page, nullptr);
  QTabWidget* tabs = page->tabs();
  const int last = tabs->count() - 1;
  EXPECT_EQ(tabs->tabText(last), S("Held by"));
  EXPECT_TRUE(tabs->isTabVisible(last));
  auto* shown = qobject_cast<HolderView*>(tabs->widget(last));
  ASSERT_NE(shown, nullptr);
  EXPECT_FALSE(shown->isVisible()) << "behind the first page";
  tabs->setCurrentIndex(last);
  EXPECT_TRUE(shown->tree()->isVisible());
  EXPECT_EQ(shown->maximumHeight(), QWIDGETSIZE_MAX);
  EXPECT_TRUE(Print(shown->model())[0].startsWith(S("Live then|1.00 MiB|1")))
      << qPrintable(Print(shown->model())[0]);
  QString csv;
  QTextStream out(&csv);
  EXPECT_FALSE(page->WriteCsv(&out)) << "a tree is no table";
}

}  // namespace
}  // namespace memprof::viewer
