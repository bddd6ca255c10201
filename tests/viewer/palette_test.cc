// The palette in a window, by keyboard alone.
#include "viewer/window/palette.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QLineEdit>
#include <QListView>

#include "tests/viewer/window_fixture.h"

namespace memprof::viewer {
namespace {

class PaletteTest : public testing::WindowFixture {
 protected:
  void SetUp() override {
    window_.show();
    Open({.steps = 20}, ViewKind::kTimeline);
    palette_ = window_.findChild<Palette*>();
    ASSERT_NE(palette_, nullptr);
  }
  void Type(const char* query) {
    if (!palette_->isVisible()) palette_->Open();
    window_.WaitUntilSettled();
    palette_->field()->setText(QString::fromUtf8(query));
  }
  void Enter() {
    QTest::keyClick(palette_->field(), Qt::Key_Return);
    window_.WaitUntilSettled();
  }
  const PaletteItem& First() { return palette_->model().ItemAt(0); }

  Palette* palette_ = nullptr;
};

TEST_F(PaletteTest, AViewByItsName) {
  Type("addr map");
  ASSERT_GT(palette_->model().rowCount(), 0);
  EXPECT_EQ(First().detail, QStringLiteral("Ctrl+3")) << "with its key";
  Enter();
  EXPECT_FALSE(palette_->isVisible());
  EXPECT_EQ(window_.view(), ViewKind::kMap);
}

TEST_F(PaletteTest, ASiteIsSelectedAndShown) {
  Type("losshistory");
  ASSERT_EQ(First().kind, PaletteKind::kSite);
  EXPECT_TRUE(First().detail.endsWith(QStringLiteral("MiB at the peak")));
  const auto site = static_cast<std::uint32_t>(First().target);
  Enter();
  EXPECT_EQ(window_.selection().site().value, site);
  EXPECT_EQ(window_.view(), ViewKind::kFlame);
  window_.ShowView(ViewKind::kAllocations);
  Type("losshistory");
  Enter();
  EXPECT_EQ(window_.view(), ViewKind::kAllocations) << "it shows the site itself";
}

TEST_F(PaletteTest, AStepATensorACategoryACommand) {
  Type("step 17");
  Enter();
  EXPECT_EQ(window_.document().session()->StepAt(window_.selection().instant()), 17);
  const ViewKind before = window_.view();
  Type("gradients");
  ASSERT_EQ(First().kind, PaletteKind::kCategory);
  Enter();
  EXPECT_EQ(window_.selection().filter().category, analysis::Category::kGradients);
  EXPECT_EQ(window_.view(), before);
  Type("show everything");
  ASSERT_EQ(First().kind, PaletteKind::kCommand);
  Enter();
  EXPECT_TRUE(window_.selection().filter().everything());
  Type("weight");
  int tensor = 0;
  while (tensor < palette_->model().rowCount() &&
         palette_->model().ItemAt(tensor).kind != PaletteKind::kTensor)
    ++tensor;
  ASSERT_LT(tensor, palette_->model().rowCount());
  for (int i = 0; i < tensor; ++i) QTest::keyClick(palette_->field(), Qt::Key_Down);
  const auto id = static_cast<std::uint32_t>(palette_->model().ItemAt(tensor).target);
  Enter();
  EXPECT_EQ(window_.view(), ViewKind::kTensors);
  EXPECT_EQ(window_.selection().allocation().value, id);
}

TEST_F(PaletteTest, ArrowsStayInTheListAndEscCloses) {
  Type("");
  const int rows = palette_->model().rowCount();
  ASSERT_GT(rows, 12) << "something of each kind";
  const auto row = [this] { return palette_->list()->currentIndex().row(); };
  QTest::keyClick(palette_->field(), Qt::Key_Up);
  EXPECT_EQ(row(), 0);
  QTest::keyClick(palette_->field(), Qt::Key_PageDown);
  EXPECT_EQ(row(), 10);
  for (int i = 0; i < 9; ++i) QTest::keyClick(palette_->field(), Qt::Key_PageDown);
  EXPECT_EQ(row(), rows - 1);
  window_.selection().SelectSite(analysis::StackId(1));
  QTest::keyClick(palette_->field(), Qt::Key_Escape);
  EXPECT_FALSE(palette_->isVisible());
  EXPECT_TRUE(window_.selection().site().valid()) << "Esc closed the palette alone";
  Type("qqqq");
  EXPECT_EQ(palette_->model().rowCount(), 0);
  Enter();
  EXPECT_TRUE(palette_->isVisible()) << "there is nowhere to go";
  palette_->Open();
  EXPECT_FALSE(palette_->isVisible()) << "the key again closes it";
}

TEST_F(PaletteTest, AnotherLogHasOtherNames) {
  Type("step 19");
  EXPECT_EQ(palette_->model().rowCount(), 1);
  Open({.steps = 5}, ViewKind::kTimeline);
  EXPECT_TRUE(palette_->isVisible());
  EXPECT_EQ(palette_->model().rowCount(), 0);
  Type("step 4");
  EXPECT_EQ(palette_->model().rowCount(), 1);
}

}  // namespace
}  // namespace memprof::viewer
