// What the timeline shows at the user's wish: the whole device, without some bands, a part of the
// bytes, colours that are pinned.
#include <gtest/gtest.h>

#include <QComboBox>
#include <QSettings>

#include "tests/viewer/timeline_fixture.h"
#include "viewer/views/timeline_stacks.h"
#include "viewer/views/timeline_view.h"

namespace memprof::viewer {
namespace {

using analysis::kMiB;
using analysis::Layer;
using analysis::Op;
using analysis::TimelineGrouping;
using analysis::TimeNs;
using testing::Count;
using testing::Grab;
using testing::Near;
using testing::TimelineTest;
using testing::TipAt;

class ContentTest : public TimelineTest {
 protected:
  static constexpr std::uint64_t kCapacity = 100 * kMiB;

  void Sample(analysis::testing::LogBuilder& log, std::uint64_t used, std::uint64_t others) {
    log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, kCapacity - used, 0,
              {.aux0 = kCapacity, .aux1 = 1 + others});
  }
  // 20 MiB of Alpha for a second; Beta has 10 MiB from 0.2 s on, and 10 MiB more from 0.4 s to
  // 0.6 s. A sample at 0.3 s shows 15 MiB of other processes and 5 MiB of nobody.
  void OpenDevice(bool fails) {
    analysis::testing::LogBuilder log;
    log.Device(0, kCapacity);
    log.header().set_start_time_ns(kStart);
    const int alpha = log.Stack({"main (a.cc:1)", "Alpha (a.cc:9)"});
    const int beta = log.Stack({"main (a.cc:1)", "Beta (a.cc:19)"});
    log.SetTime(kStart);
    log.Alloc(Layer::kLinear, 0x10000000, 20 * kMiB, {.stack = alpha});
    log.SetTime(kStart + 200'000'000);
    log.Alloc(Layer::kLinear, 0x20000000, 10 * kMiB, {.stack = beta});
    log.SetTime(kStart + 300'000'000);
    Sample(log, 50 * kMiB, 15 * kMiB);
    log.SetTime(kStart + 400'000'000);
    log.Alloc(Layer::kLinear, 0x30000000, 10 * kMiB, {.stack = beta});
    log.SetTime(kStart + 600'000'000);
    log.Free(0x30000000);
    log.SetTime(kStart + 800'000'000);
    if (fails)
      log.AllocFailed(Layer::kLinear, 64 * kMiB, {.aux0 = 0, .aux1 = kCapacity, .result = 2});
    log.SetTime(kStart + 1'000'000'000);
    log.Snapshot("the end");
    OpenLog(log);
    window_.selection().SetInstant(kStart);
    window_.WaitUntilSettled();
  }
  void Choose(TimelineGrouping grouping) {
    view()->stacks()->SetGrouping(grouping);
    window_.WaitUntilSettled();
    Grab(view());
  }
  const TimelineBands& bands() { return *view()->stacks()->bands(); }
  std::uint64_t BytesOf(const QString& name, double seconds) {
    const auto bytes = bands().stack->BytesAt(kStart + static_cast<TimeNs>(seconds * 1e9));
    for (std::size_t b = 0; b < bytes.size(); ++b)
      if (bands().bands[b].name == name) return bytes[b] / kMiB;
    return 999;
  }
  // The legend's entry of a band, from the top of the stack.
  QRectF Entry(int band) {
    return view()->legend().RectOf(bands().bands.size() - 1 - static_cast<std::size_t>(band));
  }
  void ClickSwatch(int band) {
    QTest::mouseClick(
        view(), Qt::LeftButton, {},
        Entry(band).center().toPoint() - QPoint(static_cast<int>(Entry(band).width() / 2) - 4, 0));
    window_.WaitUntilSettled();
    Grab(view());
  }
  double YOf(double mib) { return view()->ByteAxis().Y(mib * static_cast<double>(kMiB)); }
};

TEST_F(ContentTest, TheWholeDeviceReachesItsCapacity) {
  OpenDevice(false);
  EXPECT_TRUE(view()->whole_choice()->isVisibleTo(view()));
  EXPECT_FALSE(view()->stacks()->whole_device()) << "less than half full";
  EXPECT_EQ(bands().top.max(), 40 * kMiB);
  view()->setFocus();
  QTest::keyClick(view(), Qt::Key_W);
  window_.WaitUntilSettled();
  EXPECT_EQ(view()->whole_choice()->currentText(), QStringLiteral("Whole device"));
  for (const double seconds : {0.1, 0.25, 0.35, 0.5, 0.9}) {
    EXPECT_EQ(bands().top.At(kStart + static_cast<TimeNs>(seconds * 1e9)), kCapacity);
    const bool known = seconds > 0.3;
    EXPECT_EQ(BytesOf(QStringLiteral("Untracked"), seconds), known ? 5u : 0u);
    EXPECT_EQ(BytesOf(QStringLiteral("Other processes"), seconds), known ? 15u : 0u);
    EXPECT_EQ(BytesOf(QStringLiteral("Not known"), seconds) > 0, !known);
  }
  EXPECT_EQ(BytesOf(QStringLiteral("Free"), 0.5), 40u);
  const QImage image = Grab(view());
  EXPECT_TRUE(Near(image.pixelColor(X(0.9), static_cast<int>(YOf(32.5))),
                   theme().Band(BandRole::kUntracked)));
  EXPECT_TRUE(Near(image.pixelColor(X(0.9), static_cast<int>(YOf(90))), theme().surface));
  const int free = static_cast<int>(bands().bands.size()) - 2;
  EXPECT_EQ(bands().bands[static_cast<std::size_t>(free)].name, QStringLiteral("Free"));
  EXPECT_TRUE(
      TipAt(view(), Entry(free).center().toPoint()).contains(QStringLiteral("From 1 sample")));
  QTest::keyClick(view(), Qt::Key_W);
  window_.WaitUntilSettled();
  EXPECT_EQ(bands().top.max(), 40 * kMiB);
}

TEST_F(ContentTest, AFullDeviceIsShownWhole) {
  OpenDevice(true);
  EXPECT_TRUE(view()->stacks()->whole_device());
  EXPECT_EQ(BytesOf(QStringLiteral("Free"), 0.9), 0u) << "as the failed call reported";
  view()->whole_choice()->setCurrentIndex(0);
  emit view()->whole_choice()->activated(0);
  window_.WaitUntilSettled();
  EXPECT_EQ(bands().top.max(), 40 * kMiB) << "the user's choice";
  // Without samples there is no choice.
  OpenPlateaus();
  EXPECT_FALSE(view()->whole_choice()->isVisibleTo(view()));
}

TEST_F(ContentTest, ABandIsHiddenByItsSwatchAndComesBack) {
  OpenDevice(false);
  Choose(TimelineGrouping::kSite);
  ASSERT_EQ(bands().bands.size(), 2u);
  const std::uint64_t axis = view()->AxisMax();
  ClickSwatch(0);
  EXPECT_TRUE(view()->stacks()->hidden(0));
  EXPECT_FALSE(window_.selection().site().valid()) << "the swatch does not select";
  ASSERT_EQ(bands().bands.size(), 2u) << "it is still listed";
  EXPECT_EQ(view()->AxisMax(), axis) << "the line of the total stays";
  const QImage image = Grab(view());
  EXPECT_TRUE(Near(image.pixelColor(X(0.3), static_cast<int>(YOf(5))), theme().Categorical(1)));
  EXPECT_TRUE(Near(image.pixelColor(X(0.3), static_cast<int>(YOf(15))), theme().surface));
  EXPECT_GT(Count(image, QRect(X(0.25), static_cast<int>(YOf(30)) - 1, 50, 3), theme().text), 45);
  EXPECT_GT(Count(image, Entry(0).toRect(), theme().muted), 20) << "struck out";
  EXPECT_TRUE(TipAt(view(), Entry(0).center().toPoint()).contains(QStringLiteral("Hidden")));
  // The name selects it still; Ctrl on the name hides the other one; one entry shows all.
  QTest::mouseClick(view(), Qt::LeftButton, Qt::ControlModifier, Entry(1).center().toPoint());
  window_.WaitUntilSettled();
  Grab(view());
  EXPECT_EQ(view()->stacks()->hidden_count(), 2u);
  QTest::mouseClick(view(), Qt::LeftButton, {}, view()->legend().RectOf(2).center().toPoint());
  window_.WaitUntilSettled();
  EXPECT_EQ(view()->stacks()->hidden_count(), 0u);
  EXPECT_EQ(bands().top.max(), 40 * kMiB);
  // With another filter the site stays hidden; with another grouping nothing is.
  Grab(view());
  ClickSwatch(0);
  analysis::AllocationFilter filter;
  filter.text = "alpha";
  window_.selection().SetFilter(filter);
  window_.WaitUntilSettled();
  EXPECT_TRUE(view()->stacks()->hidden(0));
  Choose(TimelineGrouping::kLayer);
  EXPECT_EQ(view()->stacks()->hidden_count(), 0u);
}

TEST_F(ContentTest, BytesAreZoomedAndTheAxisSaysWhereItBegins) {
  OpenDevice(false);
  view()->setFocus();
  const ByteWindow all = view()->Bytes();
  EXPECT_EQ(all.low, 0u);
  const QPointF at(X(0.5), Y(30));
  testing::Wheel(view(), at, {0, 120}, Qt::ControlModifier);
  const ByteWindow zoomed = view()->Bytes();
  EXPECT_NEAR(zoomed.span(), all.span() * 0.8, 10);
  EXPECT_NEAR(YOf(30), at.y(), 1.5) << "what is under the mouse stays there";
  EXPECT_GT(zoomed.low, 0u);
  const QRectF plot = view()->PlotRect();
  const QRect note(static_cast<int>(plot.left()), static_cast<int>(plot.bottom()) - 30, 320, 30);
  EXPECT_GT(Count(Grab(view()), note, theme().warning), 40);
  EXPECT_EQ(view()->BandAt({at.x(), YOf(39)}), 0);
  EXPECT_EQ(view()->BandAt({at.x(), YOf(41)}), -1);
  EXPECT_FALSE(window_.selection().zoomed()) << "time is not";
  QTest::keyClick(view(), Qt::Key_0);
  EXPECT_EQ(view()->Bytes(), all);
  EXPECT_EQ(Count(Grab(view()), note, theme().warning), 0);
  QTest::keyClick(view(), Qt::Key_Up, Qt::ShiftModifier);
  EXPECT_NEAR(view()->Bytes().span(), all.span() / 2, 10);
  QTest::keyClick(view(), Qt::Key_PageDown);
  EXPECT_NEAR(static_cast<double>(view()->Bytes().low), all.span() / 8, 10);
  QTest::keyClick(view(), Qt::Key_Down, Qt::ShiftModifier);
  EXPECT_EQ(view()->Bytes(), all);
  // What varies: from 20 to 40 MiB, with some space. Again: all.
  Grab(view());
  QTest::keyClick(view(), Qt::Key_F);
  EXPECT_NEAR(static_cast<double>(view()->Bytes().low), 18.8 * kMiB, kMiB * 0.1);
  EXPECT_NEAR(static_cast<double>(view()->Bytes().high), 41.2 * kMiB, kMiB * 0.1);
  Grab(view());
  QTest::keyClick(view(), Qt::Key_F);
  EXPECT_EQ(view()->Bytes(), all);
  // A drag along the axis, and a double click there.
  const int x = static_cast<int>(plot.left()) - 20;
  QTest::mousePress(view(), Qt::LeftButton, {}, {x, Y(10)});
  QTest::mouseMove(view(), {x, Y(30)});
  QTest::mouseRelease(view(), Qt::LeftButton, {}, {x, Y(30)});
  EXPECT_NEAR(static_cast<double>(view()->Bytes().low), 10.0 * kMiB, 0.3 * kMiB);
  EXPECT_NEAR(static_cast<double>(view()->Bytes().high), 30.0 * kMiB, 0.3 * kMiB);
  QTest::mouseDClick(view(), Qt::LeftButton, {}, {x, static_cast<int>(plot.center().y())});
  EXPECT_EQ(view()->Bytes(), all);
  // Another device, or another log, begins with all.
  view()->ShowBytes({kMiB, 2 * kMiB});
  OpenPlateaus();
  EXPECT_EQ(view()->Bytes().low, 0u);
}

TEST_F(ContentTest, APinnedColourIsThatOfTheSiteEverywhere) {
  OpenDevice(false);
  Choose(TimelineGrouping::kSite);
  const auto color = [this](double mib) {
    return Grab(view()).pixelColor(X(0.3), static_cast<int>(YOf(mib)));
  };
  EXPECT_TRUE(Near(color(10), theme().Categorical(0)));
  ASSERT_FALSE(bands().bands[0].key.isEmpty());
  const QString key = bands().bands[0].key;
  window_.document().PinSiteColor(key, 5);
  window_.WaitUntilSettled();
  EXPECT_TRUE(Near(color(10), theme().Categorical(5)));
  EXPECT_TRUE(Near(color(25), theme().Categorical(1))) << "the others keep theirs";
  EXPECT_EQ(window_.document().site_colors()->Of({key}), std::vector<int>{5}) << "in other views";
  EXPECT_TRUE(
      TipAt(view(), Entry(0).center().toPoint()).contains(QStringLiteral("colour is pinned")));
  window_.document().PinSiteColor(key, -1);
  window_.WaitUntilSettled();
  EXPECT_TRUE(Near(color(10), theme().Categorical(0)));
}

}  // namespace
}  // namespace memprof::viewer
