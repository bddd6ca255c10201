// The timeline stacked by a grouping: positions of bands, legend, marks, selection.
#include <gtest/gtest.h>

#include <QComboBox>
#include <QPainter>
#include <QTextStream>
#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "analysis/base/sizes.h"
#include "tests/viewer/window_fixture.h"
#include "viewer/geometry/units.h"
#include "viewer/views/overview_strip.h"
#include "viewer/views/timeline_painter.h"
#include "viewer/views/timeline_view.h"

namespace memprof::viewer {
namespace {

using analysis::kMiB;
using analysis::Layer;
using analysis::TimelineGrouping;
using analysis::TimeNs;
using testing::Count;
using testing::Grab;
using testing::Near;
using testing::TipAt;

constexpr TimeNs kStart = 5'000'000'000;
constexpr TimeNs kTenth = 100'000'000;

class GroupingTest : public testing::WindowFixture {
 protected:
  TimelineView* view() { return window_.timeline(); }
  void Choose(TimelineGrouping grouping) {
    view()->grouping_choice()->setCurrentIndex(static_cast<int>(grouping));
    window_.WaitUntilSettled();
  }
  const TimelineBands& bands() { return *view()->stacks()->bands(); }
  int X(double seconds) {
    return static_cast<int>(view()->Scale().X(kStart + static_cast<TimeNs>(seconds * 1e9)));
  }
  int Y(double mib) {
    const QRectF plot = view()->PlotRect();
    return static_cast<int>(ByteScale{view()->AxisMax(), plot.bottom(), plot.height()}.Y(
        mib * static_cast<double>(kMiB)));
  }
  QColor ColorAt(double seconds, double mib) { return Grab(view()).pixelColor(X(seconds), Y(mib)); }

  // One second: 40 MiB of site Alpha on the default stream; 20 MiB of Beta on stream 7 from 0.3 s
  // to 0.7 s; a request of Gamma for 64 MiB that fails at 0.5 s; a snapshot at 0.8 s.
  void OpenSites() {
    analysis::testing::LogBuilder log;
    log.Device(0, 1 << 30);
    log.Thread(1, 77, "trainer");
    log.header().set_start_time_ns(kStart);
    const auto site = [&log](const std::string& name) {
      return log.Stack({"main (a.cc:1)", name + " (a.cc:9)"});
    };
    log.SetTime(kStart);
    log.Alloc(Layer::kLinear, 0x10000000, 40 * kMiB, {.stack = site("Alpha")});
    log.SetTime(kStart + 3 * kTenth);
    log.Alloc(Layer::kLinear, 0x20000000, 20 * kMiB, {.stack = site("Beta"), .stream = 7});
    log.SetTime(kStart + 5 * kTenth);
    log.AllocFailed(Layer::kLinear, 64 * kMiB,
                    {.stack = site("Gamma"), .result = 2, .api = "cudaMalloc"});
    log.SetTime(kStart + 7 * kTenth);
    log.Free(0x20000000);
    log.SetTime(kStart + 8 * kTenth);
    log.Snapshot("warm");
    log.SetTime(kStart + 10 * kTenth);
    log.RangePush("end");
    OpenLog(log);
    window_.selection().SetInstant(kStart);
  }
};

TEST_F(GroupingTest, SitesAreDrawnWhereTheirBytesAre) {
  OpenSites();
  Choose(TimelineGrouping::kSite);
  ASSERT_EQ(bands().bands.size(), 2u);
  EXPECT_TRUE(bands().bands[0].name.startsWith(QStringLiteral("Alpha")));
  EXPECT_TRUE(bands().bands[1].name.startsWith(QStringLiteral("Beta")));
  EXPECT_TRUE(Near(ColorAt(0.2, 20), theme().Categorical(0)));
  EXPECT_TRUE(Near(ColorAt(0.4, 50), theme().Categorical(1)));
  EXPECT_TRUE(Near(ColorAt(0.2, 50), theme().surface));
  EXPECT_TRUE(Near(ColorAt(0.9, 50), theme().surface));
  // The overview shows the same.
  auto* strip = window_.findChild<OverviewStrip*>();
  const QImage image = Grab(strip);
  EXPECT_GT(Count(image, strip->rect(), theme().Categorical(0)), 1000);
  EXPECT_GT(Count(image, strip->rect(), theme().Categorical(1)), 500);
}

TEST_F(GroupingTest, AClickOnABandSelectsItsSiteAndPalesTheOthers) {
  OpenSites();
  QTest::mouseClick(view(), Qt::LeftButton, {}, {X(0.4), Y(50)});
  EXPECT_FALSE(window_.selection().site().valid()) << "kinds are not sites";
  Choose(TimelineGrouping::kSite);
  Grab(view());
  QTest::mouseClick(view(), Qt::LeftButton, {}, {X(0.4), Y(50)});
  EXPECT_EQ(window_.selection().site(), bands().bands[1].site);
  EXPECT_NEAR(static_cast<double>(window_.selection().instant() - kStart), 4e8, 3e6);
  EXPECT_TRUE(Near(ColorAt(0.6, 50), theme().Categorical(1)));
  const QColor pale = ColorAt(0.2, 20);
  EXPECT_FALSE(Near(pale, theme().Categorical(0)));
  EXPECT_FALSE(Near(pale, theme().surface));
  // A key selects the band below. Then a selection from another view is shown here.
  view()->setFocus();
  QTest::keyClick(view(), Qt::Key_Down, Qt::ControlModifier);
  EXPECT_EQ(window_.selection().site(), bands().bands[0].site);
  window_.selection().SelectSite(bands().bands[1].site);
  EXPECT_TRUE(Near(ColorAt(0.6, 50), theme().Categorical(1)));
  window_.selection().SelectSite({});
  EXPECT_TRUE(Near(ColorAt(0.2, 20), theme().Categorical(0)));
  // Its legend entry does the same.
  for (std::size_t i = 0; i < 2; ++i) {
    QTest::mouseClick(view(), Qt::LeftButton, {},
                      view()->legend().RectOf(i).center().toPoint() - QPoint(8, 0));
    EXPECT_EQ(window_.selection().site(), bands().bands[1 - i].site);
  }
}

TEST_F(GroupingTest, EveryGroupingIsDrawnAndGGoesThroughThem) {
  OpenSites();
  view()->setFocus();
  for (int i = 0; i < kGroupings; ++i) {
    EXPECT_EQ(static_cast<int>(view()->stacks()->grouping()), i);
    EXPECT_EQ(view()->grouping_choice()->currentIndex(), i);
    window_.WaitUntilSettled();
    EXPECT_TRUE(view()->stacks()->Note().isEmpty());
    std::uint64_t sum = 0;
    for (const std::uint64_t bytes : bands().stack->BytesAt(kStart + 4 * kTenth)) sum += bytes;
    EXPECT_EQ(sum, 60 * kMiB) << "grouping " << i;
    QTest::keyClick(view(), Qt::Key_G);
  }
  EXPECT_EQ(view()->stacks()->grouping(), TimelineGrouping::kKind);
  QTest::keyClick(view(), Qt::Key_G, Qt::ShiftModifier);
  EXPECT_EQ(view()->stacks()->grouping(), TimelineGrouping::kProcess);
}

TEST_F(GroupingTest, StreamsAndProcessesHaveNames) {
  OpenSites();
  Choose(TimelineGrouping::kStream);
  ASSERT_EQ(bands().bands.size(), 2u);
  EXPECT_EQ(bands().bands[0].name, QStringLiteral("Default stream"));
  EXPECT_EQ(bands().bands[1].name, QStringLiteral("Stream 0x7"));
  Choose(TimelineGrouping::kProcess);
  ASSERT_EQ(bands().bands.size(), 1u);
  EXPECT_TRUE(bands().bands[0].name.startsWith(QStringLiteral("pid ")));
}

TEST_F(GroupingTest, WhatTheFilterKeepsOutIsGreyOnTop) {
  OpenSites();
  analysis::AllocationFilter filter;
  filter.text = "beta";
  window_.selection().SetFilter(filter);
  for (const TimelineGrouping grouping : {TimelineGrouping::kKind, TimelineGrouping::kSite}) {
    Choose(grouping);
    ASSERT_EQ(bands().bands.size(), 2u);
    EXPECT_EQ(bands().bands[1].role, BandRole::kFilteredOut);
    const QColor grey = theme().Band(BandRole::kFilteredOut);
    EXPECT_TRUE(Near(ColorAt(0.2, 20), grey));
    EXPECT_FALSE(Near(ColorAt(0.4, 10), grey)) << "the filtered part is at the bottom";
    EXPECT_TRUE(Near(ColorAt(0.4, 50), grey));
  }
  window_.selection().SetFilter({});
  window_.WaitUntilSettled();
  EXPECT_FALSE(Near(ColorAt(0.2, 20), theme().Band(BandRole::kFilteredOut)));
}

TEST_F(GroupingTest, FailedRequestsAndSnapshotsAreMarksWithTipsThatCanBeClicked) {
  OpenSites();
  Grab(view());
  const std::vector<MarkerBox>& boxes = view()->markers().boxes();
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_EQ(boxes[0].kind, MarkerKind::kFailedRequest);
  EXPECT_NEAR(boxes[0].x, X(0.5), 2);
  EXPECT_NEAR(boxes[1].x, X(0.8), 2);
  const QRectF plot = view()->PlotRect();
  const int y = static_cast<int>(plot.top()) - 16;
  const QString failed = TipAt(view(), {X(0.5), y});
  for (const char* part : {"64.0 MiB", "main (a.cc:1)", "cudaMalloc"})
    EXPECT_TRUE(failed.contains(QString::fromUtf8(part))) << part << " in " << qPrintable(failed);
  EXPECT_TRUE(TipAt(view(), {X(0.8), y}).contains(QStringLiteral("warm")));
  QTest::mouseClick(view(), Qt::LeftButton, {}, {X(0.5) + 3, y});
  EXPECT_EQ(window_.selection().instant(), kStart + 5 * kTenth) << "to the nanosecond";
  const QImage image = Grab(view());
  EXPECT_GT(Count(image, QRect(X(0.5) - 7, y - 8, 14, 16), theme().danger), 20);
  EXPECT_GT(Count(image, QRect(X(0.8) - 7, y - 8, 14, 16), theme().good), 20);
  // With keys too, even if the time window must move.
  view()->setFocus();
  QTest::keyClick(view(), Qt::Key_N);
  EXPECT_EQ(window_.selection().instant(), kStart + 8 * kTenth);
  window_.selection().SetWindow({kStart + 9 * kTenth, kStart + 10 * kTenth});
  QTest::keyClick(view(), Qt::Key_N, Qt::ShiftModifier);
  EXPECT_EQ(window_.selection().instant(), kStart + 5 * kTenth);
  EXPECT_TRUE(window_.selection().window().Contains(kStart + 5 * kTenth));
  QTest::keyClick(view(), Qt::Key_Right, Qt::ControlModifier);
  EXPECT_GT(window_.selection().instant(), kStart + 5 * kTenth);
}

TEST_F(GroupingTest, WithoutMarksThereIsNoLaneForThem) {
  Open({.steps = 3, .framework = false});
  Grab(view());
  EXPECT_TRUE(view()->markers().boxes().empty());
  EXPECT_EQ(view()->PlotRect().top(), view()->legend().height() + kSpace);
}

TEST_F(GroupingTest, TheLegendOfLongNamesWrapsWithinTheView) {
  analysis::testing::LogBuilder log;
  log.Device(0, 1 << 30);
  for (unsigned i = 0; i < 12; ++i) {
    const std::string name(40 + 6 * i, static_cast<char>('a' + i));
    const int site = log.Stack({"main (a.cc:1)", name + " (a_rather_long_file_name.cc:1234)"});
    log.Alloc(Layer::kLinear, 0x10000 * (i + 1), 1000 * (20 - i), {.stack = site});
  }
  OpenLog(log);
  Choose(TimelineGrouping::kSite);
  for (const QSize size : {QSize(1280, 800), QSize(2560, 1440), QSize(760, 560)}) {
    window_.resize(size);
    Grab(view());
    const TimelineLegend& legend = view()->legend();
    ASSERT_GE(legend.entries(), 8u);
    for (std::size_t i = 0; i < legend.entries(); ++i) {
      const QRectF box = legend.RectOf(i);
      EXPECT_LE(box.right(), view()->width());
      EXPECT_LE(box.bottom(), view()->PlotRect().top());
      for (const QComboBox* choice : {view()->grouping_choice(), view()->axis_choice()})
        EXPECT_FALSE(choice->isVisible() && box.intersects(choice->geometry()));
      for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(box.intersects(legend.RectOf(j)));
    }
  }
  const QString tip = TipAt(view(), view()->legend().RectOf(7).center().toPoint());
  EXPECT_TRUE(tip.contains(QString(40, QLatin1Char('a')))) << qPrintable(tip);
  EXPECT_TRUE(tip.contains(QStringLiteral("at the chosen instant")));
}

TEST_F(GroupingTest, TheRowsAreTheBytesOfEveryBand) {
  OpenSites();
  Choose(TimelineGrouping::kSite);
  Grab(view());
  QString text;
  QTextStream out(&text);
  ASSERT_TRUE(view()->WriteCsv(&out));
  const QStringList lines = text.split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  EXPECT_EQ(lines.size() - 1, static_cast<qsizetype>(view()->PlotRect().width()));
  EXPECT_TRUE(lines[0].startsWith(QStringLiteral("time_s,")));
  EXPECT_EQ(lines[0].count(QStringLiteral("bytes")), 4);
  const QStringList middle = lines[1 + (lines.size() - 1) * 2 / 5].split(QLatin1Char(','));
  ASSERT_EQ(middle.size(), 5);
  EXPECT_NEAR(middle[0].toDouble(), 0.4, 0.005);
  EXPECT_EQ(middle[1].toULongLong(), 40 * kMiB);
  EXPECT_EQ(middle[2].toULongLong(), 40 * kMiB);
  EXPECT_EQ(middle[3].toULongLong(), 20 * kMiB);
  EXPECT_EQ(middle[4].toULongLong(), 20 * kMiB);
  EXPECT_EQ(lines.back().split(QLatin1Char(','))[4], QStringLiteral("0"));
}

// Four bands of up to about 1000 bytes.
TimelineColumns RandomColumns(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  TimelineColumns columns;
  columns.columns = 120;
  columns.low.assign(4, std::vector<std::uint64_t>(120, 0));
  columns.high = columns.low;
  for (std::size_t i = 0; i < 120; ++i) {
    std::uint64_t low = 0, high = 0;
    for (std::size_t b = 0; b < 4; ++b) {
      low += random() % 200;
      high = std::max(high, low) + (i / 10 % 2 == 0 ? random() % 40 : 0);
      columns.low[b][i] = low;
      columns.high[b][i] = std::max(high, low);
    }
  }
  return columns;
}

// The strips put together.
QImage WholeRaster(const TimelineColumns& columns, std::span<const BandFill> fills,
                   std::uint64_t max_bytes, int height, int pixel, int rows) {
  QImage image(columns.columns, height, QImage::Format_ARGB32_Premultiplied);
  image.fill(Qt::transparent);
  RasterStack(columns, fills, max_bytes, height, pixel, rows,
              [&](int y, const QImage& strip) { QPainter(&image).drawImage(0, y, strip); });
  return image;
}

// RasterStack pixel by pixel.
QImage SlowRaster(const TimelineColumns& columns, std::span<const BandFill> fills,
                  std::uint64_t max_bytes, int height, int pixel) {
  QImage image(columns.columns, height, QImage::Format_ARGB32_Premultiplied);
  image.fill(Qt::transparent);
  const double scale = height / static_cast<double>(max_bytes);
  const auto row = [&](std::uint64_t bytes) {
    return std::clamp(
        static_cast<int>(std::ceil(height - static_cast<double>(bytes) * scale - 0.5)), 0, height);
  };
  const auto fill = [&](int x, int from, int to, const QColor& color, const BandFill& band) {
    for (int y = from; y < to; ++y) {
      const int at = band.hatch == Qt::FDiagPattern ? y - x : y + x;
      const bool stripe =
          band.hatch != Qt::NoBrush && ((at % (8 * pixel)) + 8 * pixel) % (8 * pixel) < pixel;
      image.setPixelColor(x, y, stripe ? band.stripes : color);
    }
  };
  for (int x = 0; x < columns.columns; ++x) {
    for (std::size_t b = fills.size(); b-- > 0;) {
      const auto i = static_cast<std::size_t>(x);
      const std::uint64_t low = columns.low[b][i], high = columns.high[b][i];
      fill(x, row(low), row(b == 0 ? 0 : columns.low[b - 1][i]), fills[b].color, fills[b]);
      const std::uint64_t from = b == 0 ? low : std::max(low, columns.high[b - 1][i]);
      if (high <= from) continue;
      fill(x, row(high), row(from), fills[b].at_times, fills[b]);
      const int line = std::min(row(high), height - pixel);
      fill(x, std::max(0, line), line + pixel, fills[b].color, {});
    }
  }
  return image;
}

TEST_F(GroupingTest, StripsArePixelByPixelTheStack) {
  std::vector<BandFill> fills;
  for (int b = 0; b < 4; ++b)
    fills.push_back({theme().Categorical(b), theme().Categorical(b + 1),
                     std::array{Qt::NoBrush, Qt::BDiagPattern, Qt::FDiagPattern,
                                Qt::NoBrush}[static_cast<std::size_t>(b)],
                     theme().Categorical(b + 2)});
  for (const int pixel : {1, 2, 3}) {
    for (const int height : {1, 7, 90, 131}) {
      const TimelineColumns columns = RandomColumns(static_cast<std::uint64_t>(pixel + height));
      // Above some columns nothing is left, so that strips are opaque, mixed and empty.
      for (const std::uint64_t max_bytes : {200u, 1000u, 4000u}) {
        const QImage slow = SlowRaster(columns, fills, max_bytes, height, pixel);
        for (const int rows : {1, 16, 200})
          EXPECT_EQ(WholeRaster(columns, fills, max_bytes, height, pixel, rows), slow)
              << pixel << " " << height << " " << max_bytes << " " << rows;
      }
    }
  }
}

TEST_F(GroupingTest, PixelsAndShapesAreTheSamePicture) {
  const TimelineColumns columns = RandomColumns(4);
  std::vector<BandFill> fills;
  for (int b = 0; b < 4; ++b) {
    const QColor color = theme().Categorical(b);
    fills.push_back({color, color, Qt::NoBrush});
  }
  QImage shapes(120, 90, QImage::Format_ARGB32_Premultiplied);
  shapes.fill(Qt::transparent);
  QPainter painter(&shapes);
  PaintStackShapes(painter, QRectF(0, 0, 120, 90), columns, fills, 1000);
  painter.end();
  const QImage pixels = WholeRaster(columns, fills, 1000, 90, 1, 90);
  ASSERT_EQ(pixels.size(), shapes.size());
  int different = 0;
  for (int y = 0; y < 90; ++y)
    for (int x = 0; x < 120; ++x)
      different += !Near(pixels.pixelColor(x, y), shapes.pixelColor(x, y), 4);
  EXPECT_LT(different, 120) << "except for the rounding of lines one pixel high";
}

TEST_F(GroupingTest, CategoriesAreWaitedForAndDrawn) {
  Open({.steps = 12});
  Choose(TimelineGrouping::kCategory);
  QStringList names;
  for (const Band& band : bands().bands) names << band.name;
  EXPECT_TRUE(names.contains(QStringLiteral("Optimizer state")))
      << qPrintable(names.join(QLatin1Char(',')));
  EXPECT_TRUE(names.contains(QStringLiteral("Cached in segments")));
  // For another log the grouping is kept, with its own bands.
  OpenSites();
  window_.WaitUntilSettled();
  EXPECT_EQ(view()->stacks()->grouping(), TimelineGrouping::kCategory);
  EXPECT_EQ(bands().stack->session(), window_.document().session());
}

}  // namespace
}  // namespace memprof::viewer
