// A picture of allocations: time along, bytes upwards.
#include "viewer/models/allocation_picture.h"

#include <algorithm>
#include <cmath>

#include "viewer/geometry/axis.h"
#include "viewer/geometry/coverage_grid.h"
#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

using analysis::TimeNs;

constexpr double kEdged = 4;  // pixels of each side from which a rectangle has an edge
// Pixels of width from which it may have a name, times the ratio.
constexpr double kLabelWidth = 52;
constexpr std::size_t kLabels = 300;  // the maximum number of labels, for the largest rectangles
constexpr std::size_t kLookEvery = 1 << 14;

struct Shape {
  float left, top, right, bottom;
  std::size_t row;
  float area() const { return (right - left) * (bottom - top); }
};

// From times and bytes to pixels.
class Projection {
 public:
  explicit Projection(const AllocationPictureQuery& query)
      : clock_(query.clock.known() ? &query.clock : nullptr),
        window_(clock_ != nullptr ? clock_->ToSteps(query.box.window) : query.box.window),
        per_ns_(query.width / std::max(1.0, static_cast<double>(window_.end - window_.begin))),
        per_byte_(query.height / std::max(1e-9, query.box.high - query.box.low)),
        high_(query.box.high),
        width_(query.width) {}

  double X(TimeNs time) const {
    if (time == analysis::kForever) return width_;
    if (clock_ != nullptr) time = clock_->ToSteps(time);
    return time >= window_.begin ? static_cast<double>(time - window_.begin) * per_ns_
                                 : -static_cast<double>(window_.begin - time) * per_ns_;
  }
  double Y(double bytes) const { return (high_ - bytes) * per_byte_; }

 private:
  const StepClock* clock_;
  analysis::TimeWindow window_;
  double per_ns_, per_byte_, high_, width_;
};

// Darkens (in the dark theme lightens) two sides of each shape, so that neighbours of one colour
// are visible separately.
void DrawEdges(QImage& image, const std::vector<Shape>& shapes, const Theme& theme) {
  const QColor surface = theme.surface;
  const auto blend = [&surface](QRgb& pixel) {
    const auto mix = [](int a, int b) { return (a + b) / 2; };
    pixel = qRgba(mix(qRed(pixel), surface.red()), mix(qGreen(pixel), surface.green()),
                  mix(qBlue(pixel), surface.blue()), std::max(qAlpha(pixel), 255));
  };
  for (const Shape& shape : shapes) {
    const int left = static_cast<int>(std::floor(shape.left));
    const int right = std::min(static_cast<int>(std::ceil(shape.right)), image.width());
    const int top = static_cast<int>(std::floor(shape.top));
    const int bottom = std::min(static_cast<int>(std::ceil(shape.bottom)), image.height());
    if (top >= 0) {
      auto* line = reinterpret_cast<QRgb*>(image.scanLine(top));
      for (int x = std::max(0, left); x < right; ++x) blend(line[x]);
    }
    if (left < 0) continue;
    for (int y = std::max(0, top + 1); y < bottom; ++y)
      blend(reinterpret_cast<QRgb*>(image.scanLine(y))[left]);
  }
}

void AddLabels(const AllocationPictureQuery& query, std::vector<Shape>& shapes,
               AllocationPicture& picture) {
  if (query.label_height <= 0) return;
  std::erase_if(shapes, [&](const Shape& s) {
    return s.right - s.left < kLabelWidth * query.ratio ||
           s.bottom - s.top < static_cast<float>(query.label_height) ||
           query.colors->of[s.row] == 0;
  });
  const std::size_t count = std::min(shapes.size(), kLabels);
  std::partial_sort(shapes.begin(), shapes.begin() + static_cast<std::ptrdiff_t>(count),
                    shapes.end(), [](const Shape& a, const Shape& b) {
                      return a.area() != b.area() ? a.area() > b.area() : a.row < b.row;
                    });
  for (std::size_t i = 0; i < count; ++i) {
    const Shape& s = shapes[i];
    QString text = TensorLabel(query.index->session(), query.index->id(s.row));
    // Only the name; its shape is in the tooltip.
    text = text.left(text.indexOf(QStringLiteral("  ")));
    if (text.isEmpty())
      text = FormatBytes(query.index->session().record(query.index->id(s.row)).bytes);
    picture.labels.push_back({QRectF(QPointF(s.left, s.top), QPointF(s.right, s.bottom)), text,
                              QColor::fromRgb(query.colors->palette[query.colors->of[s.row]])});
  }
}

// Adds the allocations in the box; false after a request to stop. Calls `shape(...)` for each.
template <typename ColorOf, typename Shown>
bool AddRows(const AllocationPictureQuery& query, const AllocationIndex& index,
             const std::stop_token& stop, CoverageGrid& grid, ColorOf color, Shown shown) {
  const Projection at(query);
  // Uses exact times if the stored ones are too coarse for this zoom.
  const double per_pixel =
      static_cast<double>(query.box.window.end - query.box.window.begin) / query.width;
  const bool exact = static_cast<double>(index.quantum()) * 4 > per_pixel && index.quantum() > 1;
  std::size_t visited = 0;
  index.ForEachAlive(query.box.window, [&](std::size_t row) {
    if (++visited % kLookEvery == 0 && stop.stop_requested()) return false;
    const double low = index.low(row), high = index.high(row);
    if (high < query.box.low || low > query.box.high) return true;
    const TimeNs birth = exact ? index.Birth(row) : index.CoarseBirth(row);
    const TimeNs death = exact ? index.Death(row) : index.CoarseDeath(row);
    const double x0 = at.X(birth), x1 = at.X(death), y0 = at.Y(high), y1 = at.Y(low);
    if (x1 < 0 || x0 > query.width) return true;
    grid.Add(x0, x1, y0, y1, color(row));
    shown(row, x0, x1, y0, y1);
    return true;
  });
  return !stop.stop_requested();
}

}  // namespace

AllocationPicture DrawAllocations(const AllocationPictureQuery& query,
                                  const std::stop_token& stop) {
  AllocationPicture picture;
  picture.box = query.box;
  picture.steps = query.clock.known();
  QImage under;
  if (query.segments != nullptr && query.segments->size() > 0) {
    CoverageGrid grid(query.width, query.height);
    const QRgb hole = query.theme.hole.rgb();
    std::vector<Shape> edges;
    AddRows(
        query, *query.segments, stop, grid, [hole](std::size_t) { return hole; },
        [&](std::size_t row, double x0, double x1, double y0, double y1) {
          if (y1 - y0 < kEdged) return;
          edges.push_back({static_cast<float>(x0), static_cast<float>(std::max(0.0, y0)),
                           static_cast<float>(x1),
                           static_cast<float>(std::min<double>(y1, query.height)), row});
        });
    under = grid.Compose(QImage(), 0, 1);
    // Free memory in a segment must look different from space outside of segments.
    Theme lines = query.theme;
    lines.surface = query.theme.border;
    DrawEdges(under, edges, lines);
  }
  CoverageGrid grid(query.width, query.height);
  std::vector<Shape> shapes;
  const std::vector<std::uint8_t>& of = query.colors->of;
  const std::vector<QRgb>& palette = query.colors->palette;
  const bool done = AddRows(
      query, *query.index, stop, grid, [&](std::size_t row) { return palette[of[row]]; },
      [&](std::size_t row, double x0, double x1, double y0, double y1) {
        ++picture.drawn;
        x0 = std::max(x0, -1.0);
        x1 = std::min<double>(x1, query.width);
        y0 = std::max(y0, -1.0);
        y1 = std::min<double>(y1, query.height);
        if (x1 - x0 < kEdged || y1 - y0 < kEdged) return;
        shapes.push_back({static_cast<float>(x0), static_cast<float>(y0), static_cast<float>(x1),
                          static_cast<float>(y1), row});
      });
  if (!done) {
    picture.stopped = true;
    return picture;
  }
  picture.large = shapes.size();
  picture.image = grid.Compose(under);
  DrawEdges(picture.image, shapes, query.theme);
  AddLabels(query, shapes, picture);
  return picture;
}

QString AllocationName(const analysis::Session& session, analysis::Symbols& symbols,
                       analysis::AllocationId id) {
  const QString tensor = TensorLabel(session, id);
  if (!tensor.isEmpty()) return tensor;
  const analysis::AllocationRecord& a = session.record(id);
  return a.stack.valid() ? SiteName(symbols, a.stack) : ToQString(analysis::LayerName(a.layer));
}

}  // namespace memprof::viewer
