// Measured in pictures: whether spikes, lines and colours of the timeline can be seen.
#include <gtest/gtest.h>

#include <QApplication>
#include <QPainter>

#include "tests/viewer/color_vision.h"
#include "tests/viewer/timeline_fixture.h"
#include "viewer/views/timeline_painter.h"

namespace memprof::viewer {
namespace {

using analysis::kMiB;
using analysis::Layer;
using analysis::TimeNs;
using testing::Ciede2000;
using testing::Grab;
using testing::Lab;
using testing::TimelineTest;

class SeenTest : public TimelineTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    before_ = QApplication::palette();
    QApplication::setPalette(MakePalette(GetParam()));
    window_.setPalette(MakePalette(GetParam()));
  }
  void TearDown() override { QApplication::setPalette(before_); }

  QPalette before_;
};

INSTANTIATE_TEST_SUITE_P(Both, SeenTest, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "Dark" : "Light"; });

// A microsecond of 20 MiB in a second, over cached memory, at each kind of block.
TEST_P(SeenTest, ASpikeIsTwoPixelsWideWithAContrastOfThree) {
  analysis::testing::LogBuilder log;
  log.Device(0, 1 << 30);
  log.header().set_start_time_ns(kStart);
  log.SetTime(kStart);
  log.Alloc(Layer::kSegment, 0x10000000, 60 * kMiB);
  log.Alloc(Layer::kLinear, 0x10000000, 60 * kMiB);
  log.Alloc(Layer::kBlock, 0x10000000, 10 * kMiB);
  for (const int tenth : {3, 5}) {
    log.SetTime(kStart + static_cast<TimeNs>(tenth) * 100'000'000 + 50'123'457);
    log.Alloc(Layer::kBlock, 0x11000000, (tenth == 3 ? 25 : 20) * kMiB);
    log.AdvanceTime(1000);
    log.Free(Layer::kBlock, 0x11000000);
  }
  log.SetTime(kStart + 1'000'000'000);
  log.Snapshot("the end");
  OpenLog(log);
  window_.selection().SetInstant(kStart);
  const analysis::TimeWindow whole = window_.selection().window();
  for (const std::uint64_t zoom : {1, 3, 40}) {
    const TimeNs spike = kStart + 550'123'957;
    const TimeNs half = (whole.end - whole.begin) / zoom / 2;
    window_.selection().SetWindow({spike - std::min(half, spike - whole.begin), spike + half});
    const QImage image = Grab(view());
    const int y = Y(20), x = static_cast<int>(view()->Scale().X(spike));
    const QColor behind = image.pixelColor(x - 8, y);
    int seen = 0;
    for (int at = x - 4; at <= x + 4; ++at)
      seen += Theme::Contrast(image.pixelColor(at, y), behind) >= 3;
    EXPECT_GE(seen, 2) << "zoom " << zoom;
    EXPECT_LE(seen, 4) << "zoom " << zoom;
  }
}

TEST_P(SeenTest, TheLineOfWhatIsInUseIsOnTopOfTheStack) {
  OpenPlateaus();
  const QImage image = Grab(view());
  for (const double seconds : {0.1, 0.5, 0.9}) {
    const int y = Y(seconds == 0.5 ? 60 : 40);
    double most = 0;
    for (int at = y - 2; at <= y + 2; ++at)
      most = std::max(most, Theme::Contrast(image.pixelColor(X(seconds), at), theme().surface));
    EXPECT_GE(most, 7) << seconds;
  }
}

// The swatches of eight groups, and the greys of what is not in use, as they are drawn.
TEST_P(SeenTest, BandsInAPictureDifferForAnyColourVision) {
  std::vector<QColor> drawn;
  const auto draw = [&](const Band& band) {
    QImage image(40, 40, QImage::Format_ARGB32_Premultiplied);
    image.fill(theme().surface);
    QPainter painter(&image);
    FillBand(painter, QPolygonF(QRectF(0, 0, 40, 40)), FillOf(band, theme()));
    painter.end();
    drawn.push_back(image.pixelColor(20, 21));
  };
  for (int i = 0; i < Theme::kCategories; ++i) draw({BandRole::kGroup, i, {}, {}, {}});
  draw({BandRole::kOther, 0, {}, {}, {}});
  for (const auto* eye : {&testing::kNormal, &testing::kProtanope, &testing::kDeuteranope}) {
    for (std::size_t i = 0; i < drawn.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_GE(Ciede2000(Lab(drawn[i], *eye), Lab(drawn[j], *eye)), 10) << i << " and " << j;
  }
}

}  // namespace
}  // namespace memprof::viewer
