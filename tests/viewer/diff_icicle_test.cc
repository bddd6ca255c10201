// The icicle of a comparison in a window: colours, marks, choices, zoom.
#include "viewer/views/diff_icicle.h"

#include <gtest/gtest.h>

#include <QLineEdit>
#include <QTreeView>

#include "tests/viewer/compare_fixture.h"
#include "tests/viewer/table_fixture.h"
#include "viewer/views/rich_label.h"

namespace memprof::viewer {
namespace {

using testing::CompareTest;
using testing::Csv;
using testing::Grab;
using testing::Near;
using testing::TipAt;

class DiffIcicleTest : public CompareTest {
 protected:
  // The demo with and without its leak, the leak before if it is gone.
  void Compare(bool gone = false) {
    Open({.steps = 9, .leak = !gone}, ViewKind::kDiff);
    diff()->CompareWith(Other({.steps = 9, .leak = gone}));
    diff()->sites()->SetPage(DiffSites::Page::kIcicle);
    window_.WaitUntilSettled();
    ASSERT_NE(canvas()->picture(), nullptr);
  }
  DiffIcicle* icicle() { return diff()->sites()->icicle(); }
  DiffCanvas* canvas() { return icicle()->canvas(); }
  int Find(const char* function) {
    for (std::size_t i = 0; i < canvas()->tree()->nodes.size(); ++i)
      if (canvas()->tree()->nodes[i].function == function) return static_cast<int>(i);
    return -1;
  }
  QRectF RectOf(int node) {
    for (const FlameBox& box : canvas()->Layout().boxes)
      if (box.node == node) return box.rect;
    return {};
  }
  const DiffCost& Cost(int node) {
    return canvas()->picture()->costs[static_cast<std::size_t>(node)];
  }
  void Click(int node) {
    QTest::mouseClick(canvas(), Qt::LeftButton, {}, RectOf(node).center().toPoint());
    window_.WaitUntilSettled();
  }
};

TEST_F(DiffIcicleTest, ColoursAreTheChange) {
  Compare();
  const int leak = Find(testing::kLeakFunction);
  ASSERT_GT(leak, 0);
  EXPECT_TRUE(Cost(leak).fresh());
  const QImage image = Grab(canvas());
  int same = 0;
  for (const FlameBox& box : canvas()->Layout().boxes) {
    if (box.rect.width() < 20) continue;
    // Beside the mark and the text.
    const QColor at = image.pixelColor(static_cast<int>(box.rect.left()) + 1,
                                       static_cast<int>(box.rect.center().y()));
    EXPECT_TRUE(Near(at, theme().Diverging(Cost(box.node).share())))
        << canvas()->NodeText(box.node).toStdString();
    same += Cost(box.node).change() == 0 ? 1 : 0;
  }
  EXPECT_GT(same, 2) << "what did not change is there, too";
  // A frame marks what is new: in the colour of the text, at the left and before the text.
  const QRect edge = RectOf(leak).toRect().adjusted(0, 4, 0, -4);
  EXPECT_GE(testing::Count(image, QRect(edge.left() + 1, edge.top(), 3, edge.height()),
                           Theme::TextOn(theme().Diverging(1))),
            edge.height() - 2);
}

TEST_F(DiffIcicleTest, AClickSelectsEverywhereAndADoubleClickZooms) {
  Compare();
  const int leak = Find(testing::kLeakFunction);
  Click(leak);
  EXPECT_EQ(window_.selection().site(), Cost(leak).after_stack);
  EXPECT_TRUE(window_.selection().flame_path().isEmpty()) << "not zoomed";
  EXPECT_GT(diff()->stack().rowCount(), 0);
  EXPECT_TRUE(diff()->table()->currentIndex().data().toString().startsWith(
      QLatin1String(testing::kLeakFunction)));
  const QString tip = TipAt(canvas(), RectOf(leak).center().toPoint());
  EXPECT_TRUE(
      tip.contains(QStringLiteral("before: 0 B in 0 blocks\nafter: 9.00 MiB in 9 blocks\n"
                                  "change: +9.00 MiB, new")))
      << tip.toStdString();
  EXPECT_FALSE(icicle()->way()->isVisible());
  QTest::mouseDClick(canvas(), Qt::LeftButton, {}, RectOf(leak).center().toPoint());
  EXPECT_EQ(window_.selection().flame_path(), FlamePath(*canvas()->tree(), leak));
  EXPECT_DOUBLE_EQ(RectOf(leak).width(), canvas()->width());
  EXPECT_TRUE(icicle()->way()->isVisible());
  EXPECT_TRUE(icicle()->way()->PlainText().endsWith(QStringLiteral(" › LossHistory::Append")));
  emit icicle()->way()->linkActivated(QStringLiteral("0"));
  EXPECT_TRUE(window_.selection().flame_path().isEmpty());
}

TEST_F(DiffIcicleTest, WhatIsGoneShowsItsStackOfBefore) {
  Compare(true);
  const int leak = Find(testing::kLeakFunction);
  ASSERT_GT(leak, 0);
  EXPECT_TRUE(Cost(leak).gone());
  Click(leak);
  EXPECT_FALSE(window_.selection().site().valid()) << "the open log does not have it";
  EXPECT_GT(diff()->stack().rowCount(), 0) << "of the other log";
  diff()->Swap();
  window_.WaitUntilSettled();
  EXPECT_TRUE(Cost(Find(testing::kLeakFunction)).fresh());
  Click(Find(testing::kLeakFunction));
  EXPECT_FALSE(window_.selection().site().valid());
}

TEST_F(DiffIcicleTest, SearchDirectionAndTable) {
  Compare();
  EXPECT_TRUE(diff()->FocusSearch());
  icicle()->search()->setText(QStringLiteral("losshistory"));
  const DiffCost leak = Cost(Find(testing::kLeakFunction));
  EXPECT_NEAR(
      canvas()->matched(),
      static_cast<double>(leak.after.bytes) / static_cast<double>(canvas()->tree()->nodes[0].bytes),
      1e-9);
  icicle()->search()->clear();
  icicle()->SetBottomUp(true);
  window_.WaitUntilSettled();
  const int line = Find("loss_history.cc:24");
  ASSERT_GT(line, 0);
  EXPECT_EQ(canvas()->tree()->nodes[static_cast<std::size_t>(line)].parent, 0)
      << "without libraries it begins with the lines of the call sites";
  icicle()->SetFromSite(false);
  window_.WaitUntilSettled();
  EXPECT_EQ(Find("loss_history.cc:24"), -1);
  const QStringList lines = Csv(*diff()).split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  EXPECT_EQ(lines.size(), static_cast<int>(canvas()->tree()->nodes.size()))
      << "a line for each node but the root, and the headings";
  EXPECT_TRUE(lines[0].startsWith(QStringLiteral("depth,function,")));
  diff()->sites()->SetPage(DiffSites::Page::kTable);
  EXPECT_FALSE(diff()->FocusSearch()) << "the window's filter is searched";
  EXPECT_TRUE(Csv(*diff()).startsWith(QStringLiteral("what,")));
}

TEST_F(DiffIcicleTest, TheWayOfAZoomLeadsBack) {
  Compare();
  icicle()->SetFromSite(false);
  window_.WaitUntilSettled();
  int deepest = 0;
  QStringList path;
  for (std::size_t i = 1; i < canvas()->tree()->nodes.size(); ++i)
    if (const QStringList way = FlamePath(*canvas()->tree(), static_cast<int>(i));
        way.size() > path.size()) {
      deepest = static_cast<int>(i);
      path = way;
    }
  ASSERT_EQ(path.size(), 4) << deepest;
  window_.selection().SetFlamePath(path);
  window_.WaitUntilSettled();
  const QString text = icicle()->way()->PlainText();
  EXPECT_TRUE(text.startsWith(QStringLiteral("all › "))) << text.toStdString();
  EXPECT_EQ(text.count(QStringLiteral(" › ")), 4) << text.toStdString();
  emit icicle()->way()->linkActivated(QStringLiteral("2"));
  EXPECT_EQ(window_.selection().flame_path(), path.first(2));
}

TEST_F(DiffIcicleTest, IsMadeWhenItIsShownAndAnewForAFilter) {
  Open({.steps = 9, .leak = true}, ViewKind::kDiff);
  diff()->CompareWith(Other({.steps = 9, .leak = false}));
  window_.WaitUntilSettled();
  EXPECT_EQ(canvas()->picture(), nullptr) << "nobody sees it";
  diff()->sites()->SetPage(DiffSites::Page::kIcicle);
  window_.WaitUntilSettled();
  ASSERT_NE(canvas()->picture(), nullptr);
  const std::uint64_t whole = Cost(0).after.bytes;
  const std::uint64_t leak = Cost(Find(testing::kLeakFunction)).after.bytes;
  ASSERT_GT(whole, leak);
  analysis::AllocationFilter filter;
  filter.text = "LossHistory";
  window_.selection().SetFilter(filter);
  window_.WaitUntilSettled();
  EXPECT_EQ(Cost(0).after.bytes, leak);
  EXPECT_EQ(Cost(0).before.bytes, 0u);
}

TEST_F(DiffIcicleTest, TwoMoments) {
  Open({.steps = 20}, ViewKind::kDiff);
  diff()->sites()->SetPage(DiffSites::Page::kIcicle);
  window_.WaitUntilSettled();
  ASSERT_NE(canvas()->picture(), nullptr);
  std::int64_t change = 0;
  for (int row = 0; row < diff()->model().rowCount(); ++row)
    change += diff()->model().row(row).change();
  EXPECT_EQ(Cost(0).change(), change);
  EXPECT_GT(change, 0);
  // Another instant, another picture.
  window_.selection().SetInstant(window_.document().session()->steps()[2].end - 1);
  window_.WaitUntilSettled();
  EXPECT_LT(Cost(0).change(), change);
}

}  // namespace
}  // namespace memprof::viewer
