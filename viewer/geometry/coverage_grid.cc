// Draws rectangles such that even the smallest is visible.
#include "viewer/geometry/coverage_grid.h"

#include <algorithm>

namespace memprof::viewer {
namespace {

// Converts to parts of a pixel. The edges are rounded, not the sizes, so that adjacent rectangles
// neither overlap nor leave a gap.
int ToSub(double value, int limit, int sub) {
  return static_cast<int>(std::clamp(value, 0.0, static_cast<double>(limit)) * sub + 0.5);
}

}  // namespace

CoverageGrid::CoverageGrid(int width, int height)
    : width_(std::max(1, width)),
      height_(std::max(1, height)),
      stride_(width_ + 2),
      cells_(static_cast<std::size_t>(stride_) * static_cast<std::size_t>(height_)) {}

void CoverageGrid::AddToRow(Cell* row, int x0, int x1, int part, QRgb color) {
  // The cells have differences to the pixel at the left: a value that begins within a pixel adds a
  // part to that pixel, and the rest to the next one.
  const auto plus = [&](int x, int sign) {
    Cell* at = row + x / kSub;
    const int first = (kSub - x % kSub) * part, second = (x % kSub) * part;
    at[0].Plus(static_cast<std::uint32_t>(sign * first), color);
    if (second != 0) at[1].Plus(static_cast<std::uint32_t>(sign * second), color);
  };
  plus(x0, 1);
  plus(x1, -1);
}

void CoverageGrid::Add(double x0, double x1, double y0, double y1, QRgb color) {
  if (!(x1 >= 0 && x0 < width_ && y1 >= 0 && y0 < height_ && x0 <= x1 && y0 <= y1)) return;
  const int left = ToSub(x0, width_, kSub), right = ToSub(x1, width_, kSub);
  const int top = ToSub(y0, height_, kSub), bottom = ToSub(y1, height_, kSub);
  const auto row = [this](int y) {
    return cells_.data() + static_cast<std::ptrdiff_t>(y) * stride_;
  };
  if (left == right || top == bottom) {
    // The smallest visible amount, in each pixel that the rectangle touches.
    const int y = std::min(top / kSub, height_ - 1);
    Cell* cells = row(y);
    const int first = std::min(left / kSub, width_ - 1);
    const int last = std::min(std::max(left, right - 1) / kSub, width_ - 1);
    if (left != right || top == bottom) {
      cells[first].Plus(1, color);
      cells[last + 1].Plus(static_cast<std::uint32_t>(-1), color);
      return;
    }
    for (int at = y; at <= std::min((bottom - 1) / kSub, height_ - 1); ++at) {
      row(at)[first].Plus(1, color);
      row(at)[first + 1].Plus(static_cast<std::uint32_t>(-1), color);
    }
    return;
  }
  for (int y = top / kSub; y * kSub < bottom; ++y) {
    const int part = std::min(bottom, (y + 1) * kSub) - std::max(top, y * kSub);
    AddToRow(row(y), left, right, part, color);
  }
}

double CoverageGrid::Coverage(int x, int y) const {
  const Cell* row = cells_.data() + static_cast<std::ptrdiff_t>(y) * stride_;
  Cell sum;
  for (int i = 0; i <= x; ++i) sum.Plus(row[i]);
  return sum.weight / static_cast<double>(kSub * kSub);
}

QImage CoverageGrid::Compose(const QImage& under, double least, double most) const {
  QImage image = under.width() == width_ && under.height() == height_
                     ? under.convertToFormat(QImage::Format_ARGB32_Premultiplied)
                     : QImage();
  if (image.isNull()) {
    image = QImage(width_, height_, QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
  }
  for (int y = 0; y < height_; ++y) {
    const Cell* row = cells_.data() + static_cast<std::ptrdiff_t>(y) * stride_;
    auto* out = reinterpret_cast<QRgb*>(image.scanLine(y));
    Cell sum;
    for (int x = 0; x < width_; ++x) {
      sum.Plus(row[x]);
      if (sum.weight == 0) continue;
      const float covered = std::min(1.0f, static_cast<float>(sum.weight) * (1.0f / (kSub * kSub)));
      const float opacity = static_cast<float>(least) + static_cast<float>(most - least) * covered;
      const float share = opacity / static_cast<float>(sum.weight);
      const float rest = 1 - opacity;
      const QRgb below = out[x];
      const auto mix = [&](std::uint32_t color, int channel) {
        return static_cast<int>(static_cast<float>(color) * share +
                                rest * static_cast<float>(channel) + 0.5f);
      };
      out[x] = qRgba(
          std::min(255, mix(sum.red, qRed(below))), std::min(255, mix(sum.green, qGreen(below))),
          std::min(255, mix(sum.blue, qBlue(below))),
          std::min(255, static_cast<int>(255 * opacity + rest * static_cast<float>(qAlpha(below)) +
                                         0.5f)));
    }
  }
  return image;
}

}  // namespace memprof::viewer
