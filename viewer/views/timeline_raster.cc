// The stack of the timeline as pixels.
#include "viewer/views/timeline_raster.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace memprof::viewer {
namespace {

constexpr int kStripes = 8;  // pixels from one stripe to the next

class Raster {
 public:
  Raster(const TimelineColumns& columns, std::uint64_t max_bytes, int height, int pixel)
      : columns_(columns),
        scale_(height / static_cast<double>(std::max<std::uint64_t>(max_bytes, 1))),
        pixel_(std::max(1, pixel)),
        image_(columns.columns, height, QImage::Format_ARGB32_Premultiplied) {
    image_.fill(Qt::transparent);
    bits_ = reinterpret_cast<QRgb*>(image_.bits());
    stride_ = image_.bytesPerLine() / static_cast<qsizetype>(sizeof(QRgb));
  }

  QImage Draw(std::span<const BandFill> fills) {
    for (int x = 0; x < columns_.columns; ++x)
      for (std::size_t b = columns_.high.size(); b-- > 0;) DrawBand(x, b, fills[b]);
    return std::move(image_);
  }

 private:
  // The first row of pixels whose middle lies below this number of bytes.
  int Row(std::uint64_t bytes) const {
    const double y = image_.height() - static_cast<double>(bytes) * scale_;
    return std::clamp(static_cast<int>(std::ceil(y - 0.5)), 0, image_.height());
  }

  void DrawBand(int x, std::size_t b, const BandFill& fill) {
    const auto i = static_cast<std::size_t>(x);
    const std::uint64_t low = columns_.low[b][i], high = columns_.high[b][i];
    const std::uint64_t below_low = b == 0 ? 0 : columns_.low[b - 1][i];
    const int solid = Row(low);
    Fill(x, solid, Row(below_low), fill, false);
    const std::uint64_t from = b == 0 ? low : std::max(low, columns_.high[b - 1][i]);
    if (high <= from) return;
    const int top = Row(high);
    Fill(x, top, Row(from), fill, true);
    // A line on top, so that a peak of a moment is seen too.
    const int line = std::min(top, image_.height() - pixel_);
    for (int y = std::max(0, line); y < line + pixel_; ++y) At(x, y) = fill.color.rgba();
  }

  QRgb& At(int x, int y) { return bits_[y * stride_ + x]; }

  void Fill(int x, int from, int to, const BandFill& fill, bool at_times) {
    const QRgb color = (at_times ? fill.at_times : fill.color).rgba();
    const QRgb stripes = fill.stripes.rgba();
    const int slope = fill.hatch == Qt::BDiagPattern ? 1 : fill.hatch == Qt::FDiagPattern ? -1 : 0;
    QRgb* pixel = bits_ + from * stride_ + x;
    if (slope == 0) {
      for (int y = from; y < to; ++y, pixel += stride_) *pixel = color;
      return;
    }
    // The phase is incremented instead of a division for each pixel: on a large screen most pixels
    // are of such a band.
    const int period = kStripes * pixel_;
    int phase = ((x * slope + from) % period + period) % period;
    for (int y = from; y < to; ++y, pixel += stride_) {
      *pixel = phase < pixel_ ? stripes : color;
      if (++phase == period) phase = 0;
    }
  }

  const TimelineColumns& columns_;
  const double scale_;
  const int pixel_;
  QImage image_;
  QRgb* bits_ = nullptr;
  qsizetype stride_ = 0;
};

}  // namespace

QImage RasterStack(const TimelineColumns& columns, std::span<const BandFill> fills,
                   std::uint64_t max_bytes, int height, int pixel) {
  if (columns.columns <= 0 || height <= 0) return {};
  return Raster(columns, max_bytes, height, pixel).Draw(fills);
}

}  // namespace memprof::viewer
