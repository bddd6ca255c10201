// The stack of the timeline as pixels.
#include "viewer/views/timeline_raster.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

namespace memprof::viewer {
namespace {

// What a pixel shows: nothing, or a part of a band.
using Part = std::uint16_t;
constexpr Part kNothing = 0;
Part PartOf(std::size_t band, int which) {
  return static_cast<Part>(1 + 3 * band + static_cast<std::size_t>(which));
}
enum : int { kSolid, kAtTimes, kLine };  // the line on top has no stripes

// From this row on, column x shows another part.
struct Change {
  std::uint32_t x;
  Part part;
};

// The parts of all columns as changes, in order of rows: a picture has few of them, and rows are
// then made without a jump from one row of the image to the next for each pixel.
class Changes {
 public:
  Changes(const TimelineColumns& columns, std::uint64_t max_bytes, int height, int pixel)
      : columns_(columns),
        height_(height),
        pixel_(pixel),
        scale_(height / static_cast<double>(std::max<std::uint64_t>(max_bytes, 1))),
        begin_(static_cast<std::size_t>(height) + 1) {
    for (int x = 0; x < columns.columns; ++x) AddColumn(static_cast<std::uint32_t>(x));
    for (const auto& [row, change] : found_) ++begin_[static_cast<std::size_t>(row) + 1];
    for (std::size_t y = 1; y < begin_.size(); ++y) begin_[y] += begin_[y - 1];
    std::vector<std::size_t> next = begin_;
    sorted_.resize(found_.size());
    for (const auto& [row, change] : found_)
      sorted_[next[static_cast<std::size_t>(row)]++] = change;
  }

  std::span<const Change> At(int row) const {
    const auto y = static_cast<std::size_t>(row);
    return {sorted_.data() + begin_[y], begin_[y + 1] - begin_[y]};
  }

 private:
  // The first row of pixels whose middle lies below this number of bytes.
  int Row(std::uint64_t bytes) const {
    const double y = height_ - static_cast<double>(bytes) * scale_;
    return std::clamp(static_cast<int>(std::ceil(y - 0.5)), 0, height_);
  }
  // From the bottom band up: each covers those above it, without a gap.
  void AddColumn(std::uint32_t x) {
    int covered = height_;  // from this row on
    for (std::size_t b = 0; b < columns_.high.size(); ++b) {
      const std::uint64_t low = columns_.low[b][x], high = columns_.high[b][x];
      const std::uint64_t from = b == 0 ? low : std::max(low, columns_.high[b - 1][x]);
      int top = covered;
      const auto add = [&](int begin, int end, int which) {
        end = std::min(end, covered);
        if (begin < end) found_.push_back({begin, {x, PartOf(b, which)}});
        top = std::min(top, begin);
      };
      if (high > from) {
        // A line on top, so that a peak of a moment is seen too.
        const int line = std::max(0, std::min(Row(high), height_ - pixel_));
        const int at_times = line + pixel_, solid = std::max(Row(from), at_times);
        add(line, at_times, kLine);
        add(at_times, solid, kAtTimes);
        add(solid, covered, kSolid);
      } else {
        add(Row(low), covered, kSolid);
      }
      covered = top;
    }
  }

  const TimelineColumns& columns_;
  const int height_, pixel_;
  const double scale_;
  std::vector<std::pair<int, Change>> found_;  // with their rows
  std::vector<std::size_t> begin_;             // of a row's changes
  std::vector<Change> sorted_;
};

// One row of pixels, changed into the next.
class RowOfPixels {
 public:
  RowOfPixels(std::span<const BandFill> fills, int width, int pixel)
      : pixel_(pixel),
        transparent_(width),
        colors_(static_cast<std::size_t>(width), 0),
        stripes_(colors_),
        slopes_(colors_.size(), 0) {
    looks_.push_back({});
    for (const BandFill& fill : fills) {
      const int slope = fill.hatch == Qt::BDiagPattern   ? 1
                        : fill.hatch == Qt::FDiagPattern ? -1
                                                         : 0;
      const QRgb stripes = fill.stripes.rgba();
      looks_.push_back({fill.color.rgba(), stripes, slope});
      looks_.push_back({fill.at_times.rgba(), stripes, slope});
      looks_.push_back({fill.color.rgba(), 0, 0});
    }
  }

  bool opaque() const { return transparent_ == 0; }
  bool empty() const { return transparent_ == static_cast<int>(colors_.size()); }

  void Apply(std::span<const Change> changes) {
    for (const Change& change : changes) {
      const Look& look = looks_[change.part];
      transparent_ += (qAlpha(look.color) != 255) - (qAlpha(colors_[change.x]) != 255);
      colors_[change.x] = look.color;
      stripes_[change.x] = look.stripes;
      --striped_[static_cast<std::size_t>(slopes_[change.x] + 1)];
      ++striped_[static_cast<std::size_t>(look.slope + 1)];
      slopes_[change.x] = static_cast<signed char>(look.slope);
    }
  }

  void Write(int y, QRgb* pixels) const {
    std::memcpy(pixels, colors_.data(), colors_.size() * sizeof(QRgb));
    const int period = kStripePeriod * pixel_;
    for (const int slope : {-1, 1}) {
      if (striped_[static_cast<std::size_t>(slope + 1)] == 0) continue;
      for (int i = 0; i < pixel_; ++i) {
        // Where (x * slope + y) % period is i.
        const int first = ((i - y) * slope % period + period) % period;
        for (auto x = static_cast<std::size_t>(first); x < colors_.size();
             x += static_cast<std::size_t>(period))
          if (slopes_[x] == slope) pixels[x] = stripes_[x];
      }
    }
  }

 private:
  struct Look {
    QRgb color = 0, stripes = 0;
    int slope = 0;  // of the stripes; 0 = none
  };

  const int pixel_;
  int transparent_;          // columns that are not opaque
  std::vector<Look> looks_;  // by part
  std::vector<QRgb> colors_, stripes_;
  std::vector<signed char> slopes_;
  std::array<int, 3> striped_ = {};  // columns of each slope, beginning with -1
};

}  // namespace

void RasterStack(const TimelineColumns& columns, std::span<const BandFill> fills,
                 std::uint64_t max_bytes, int height, int pixel, int rows,
                 const std::function<void(int y, const QImage& strip)>& show) {
  if (columns.columns <= 0 || height <= 0) return;
  pixel = std::max(1, pixel);
  const Changes changes(columns, max_bytes, height, pixel);
  RowOfPixels row(fills, columns.columns, pixel);
  QImage strip(columns.columns, std::min(rows, height), QImage::Format_ARGB32_Premultiplied);
  auto* bits = reinterpret_cast<QRgb*>(strip.bits());
  const auto stride = strip.bytesPerLine() / static_cast<qsizetype>(sizeof(QRgb));
  for (int top = 0; top < height; top += rows) {
    const int count = std::min(rows, height - top);
    bool opaque = true, empty = true;
    for (int y = 0; y < count; ++y) {
      row.Apply(changes.At(top + y));
      row.Write(top + y, bits + y * stride);
      opaque = opaque && row.opaque();
      empty = empty && row.empty();
    }
    if (empty && count < height) continue;
    // Opaque pixels are copied, which is faster than to blend them.
    show(top, QImage(strip.constBits(), columns.columns, count, strip.bytesPerLine(),
                     opaque ? QImage::Format_RGB32 : QImage::Format_ARGB32_Premultiplied));
  }
}

}  // namespace memprof::viewer
