// The drawn flame graph: boxes in their colours, search, hover, measures.
#include "viewer/views/flame_view.h"

#include <gtest/gtest.h>

#include <QComboBox>
#include <QLineEdit>

#include "tests/viewer/window_fixture.h"
#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

using testing::Count;
using testing::Grab;
using testing::Near;

class FlameTest : public testing::WindowFixture {
 protected:
  void SetUp() override {
    Open({.steps = 20}, ViewKind::kFlame);
    canvas_ = window_.flame()->canvas();
    ASSERT_NE(canvas_->tree(), nullptr);
  }

  const analysis::FlameNode& Node(int index) {
    return canvas_->tree()->nodes[static_cast<std::size_t>(index)];
  }
  int Find(const char* function) {
    for (std::size_t i = 0; i < canvas_->tree()->nodes.size(); ++i) {
      if (canvas_->tree()->nodes[i].function == function) return static_cast<int>(i);
    }
    return -1;
  }
  QRectF RectOf(int node) {
    for (const FlameBox& box : canvas_->Layout().boxes) {
      if (box.node == node) return box.rect;
    }
    return {};
  }
  // The colour above the text of a box, near its left edge.
  QColor Corner(const QImage& image, const QRectF& rect) {
    return image.pixelColor(static_cast<int>(rect.left()) + 2, static_cast<int>(rect.top()) + 2);
  }

  FlameCanvas* canvas_ = nullptr;
};

TEST_F(FlameTest, EveryBoxHasTheColourOfItsFunction) {
  const QImage image = Grab(canvas_);
  int checked = 0;
  for (const FlameBox& box : canvas_->Layout().boxes) {
    if (box.node == 0 || box.rect.width() < 8) continue;
    const QColor wanted = theme().Frame(Node(box.node).python, ToQString(Node(box.node).function));
    EXPECT_TRUE(Near(Corner(image, box.rect), wanted)) << Node(box.node).function;
    ++checked;
  }
  EXPECT_GT(checked, 8);
  const QRectF main = RectOf(Find("main"));
  EXPECT_GT(Count(image, main.toRect(), Theme::TextOn(theme().Frame(true, QStringLiteral("main")))),
            20)
      << "its name";
}

TEST_F(FlameTest, RowsFillTheHeightWithinReason) {
  const double least = QFontMetricsF(canvas_->font()).height() + 7;
  EXPECT_GE(canvas_->RowHeight(), least);
  EXPECT_LE(canvas_->RowHeight(), 1.6 * least);
  EXPECT_GT(canvas_->RowHeight(), least) << "six rows fit";
  EXPECT_LE(canvas_->Layout().content_height, canvas_->height());
}

TEST_F(FlameTest, SearchMarksMatchesAndMutesTheRest) {
  window_.flame()->search()->setText(QStringLiteral("Append"));
  const QImage image = Grab(canvas_);
  const int leak = Find(testing::kLeakFunction);
  ASSERT_GE(leak, 0);
  EXPECT_TRUE(Near(Corner(image, RectOf(leak)), theme().Categorical(3)));
  EXPECT_TRUE(Near(Corner(image, RectOf(Find("main"))), theme().hole));
  EXPECT_NEAR(canvas_->matched(),
              static_cast<double>(Node(leak).bytes) / static_cast<double>(Node(0).bytes), 1e-9);
  window_.flame()->search()->setText(QStringLiteral("no such function"));
  EXPECT_EQ(canvas_->matched(), 0);
  window_.flame()->search()->clear();
  EXPECT_LT(canvas_->matched(), 0);
}

TEST_F(FlameTest, TooltipsGiveFunctionPlaceAndShare) {
  const int leak = Find(testing::kLeakFunction);
  const QString text = testing::TipAt(canvas_, RectOf(leak).center().toPoint());
  EXPECT_EQ(text, canvas_->NodeText(leak));
  for (const char* part :
       {"LossHistory::Append", "loss_history.cc:24", "of all", "allocation", "Python"}) {
    EXPECT_TRUE(text.contains(QString::fromUtf8(part))) << part << " in " << qPrintable(text);
  }
  EXPECT_EQ(canvas_->NodeText(-1), QString());
  EXPECT_EQ(testing::TipAt(canvas_, {5, canvas_->height() - 2}), QString());
}

TEST_F(FlameTest, TheBoxUnderTheMouseIsFramed) {
  const QRect main = RectOf(Find("main")).toRect();
  const int before = Count(Grab(canvas_), main, theme().text);
  QTest::mouseMove(canvas_, main.center());
  EXPECT_GT(Count(Grab(canvas_), main, theme().text), before + main.width());
  EXPECT_EQ(canvas_->cursor().shape(), Qt::PointingHandCursor);
  QEvent leave(QEvent::Leave);
  QCoreApplication::sendEvent(canvas_, &leave);
  EXPECT_EQ(Count(Grab(canvas_), main, theme().text), before);
}

TEST_F(FlameTest, MeasuresWhatIsChosen) {
  const analysis::Session& session = *window_.document().session();
  const analysis::TimeWindow window = window_.selection().window();
  std::uint64_t bytes = 0, blocks = 0;
  for (const analysis::Allocation& allocation : session.allocations()) {
    if (allocation.layer != analysis::Layer::kBlock || !window.Contains(allocation.birth_time)) {
      continue;
    }
    bytes += allocation.bytes;
    ++blocks;
  }
  window_.flame()->SetChoice(FlameView::Choice::kAllocatedInWindow);
  window_.WaitUntilSettled();
  EXPECT_EQ(Node(0).bytes, bytes);
  window_.flame()->SetChoice(FlameView::Choice::kCountInWindow);
  window_.WaitUntilSettled();
  EXPECT_EQ(Node(0).blocks, blocks);
  // A smaller time window has fewer blocks.
  window_.selection().SetWindow({window.begin, window.begin + (window.end - window.begin) / 2});
  window_.WaitUntilSettled();
  EXPECT_LT(Node(0).blocks, blocks);
  EXPECT_GT(Node(0).blocks, 0u);
  window_.flame()->SetChoice(FlameView::Choice::kLiveAtPeak);
  window_.selection().SetInstant(window.begin);
  window_.WaitUntilSettled();
  EXPECT_EQ(Node(0).bytes, window_.document().bands(0)->in_use.max());
  window_.flame()->SetChoice(FlameView::Choice::kLiveAtInstant);
  window_.WaitUntilSettled();
  EXPECT_EQ(Node(0).bytes, 0u) << "nothing was live at the beginning";
  EXPECT_GT(Count(Grab(canvas_), canvas_->rect(), theme().muted), 20) << "and a text says so";
}

TEST_F(FlameTest, DriverMemoryIsAChoiceBesideTheFrameworks) {
  QComboBox* layers = nullptr;
  for (QComboBox* box : window_.flame()->findChildren<QComboBox*>()) {
    if (box->accessibleName() == QStringLiteral("Which memory")) layers = box;
  }
  ASSERT_NE(layers, nullptr);
  ASSERT_EQ(layers->count(), 2);
  layers->setCurrentIndex(1);
  window_.WaitUntilSettled();
  EXPECT_EQ(Node(0).bytes,
            window_.document().bands(0)->allocated.At(window_.selection().instant()));
  EXPECT_EQ(Find("CachingAllocator::Grow"), -1) << "hidden, where a program runs Python";
  window_.flame()->SetFromSite(false);
  window_.WaitUntilSettled();
  EXPECT_GE(Find("CachingAllocator::Grow"), 0);
  window_.selection().SetDevice(analysis::kNoDevice);
  window_.WaitUntilSettled();
  ASSERT_EQ(layers->count(), 1) << "pinned memory of the host";
  EXPECT_EQ(Node(0).bytes, 8u << 20);
}

}  // namespace
}  // namespace memprof::viewer
