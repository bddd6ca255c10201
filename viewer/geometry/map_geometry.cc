// The positions of the pieces of an address map.
#include "viewer/geometry/map_geometry.h"

#include <algorithm>
#include <cmath>

namespace memprof::viewer {
namespace {

using analysis::AddressMap;
using analysis::MapPiece;
using analysis::MapSegment;

// the limit for the height of lines, relative to the requested one
constexpr double kMaxStretch = 1.7;
constexpr double kPackedGap = 6;  // between segments that share a line

// Puts segments on lines at a given scale.
class Placer {
 public:
  Placer(const MapLayoutOptions& options, double bytes_per_pixel, bool packed)
      : options_(options), packed_(packed) {
    layout_.bytes_per_pixel = bytes_per_pixel;
  }

  void Add(int index, std::uint64_t bytes) {
    const auto line_bytes =
        static_cast<std::uint64_t>(std::max(1.0, options_.width * layout_.bytes_per_pixel));
    const double width = Width(std::min(bytes, line_bytes));
    const bool shares = packed_ && !layout_.line_begin.empty() &&
                        x_ + kPackedGap + width <= options_.width && bytes <= line_bytes;
    if (shares) {
      x_ += kPackedGap;
    } else {
      NewLine();
    }
    for (std::uint64_t offset = 0;;) {
      const std::uint64_t part = std::min(bytes - offset, line_bytes);
      const double part_width = Width(part);
      const double y = static_cast<double>(layout_.line_begin.size() - 1) *
                       (options_.row_height + options_.row_gap);
      layout_.bars.push_back({index, static_cast<int>(layout_.line_begin.size()) - 1, offset, part,
                              QRectF(options_.left + x_, y, part_width, options_.row_height),
                              offset == 0});
      x_ += part_width;
      offset += part;
      if (offset >= bytes) break;
      NewLine();
    }
  }

  MapLayout Take() {
    layout_.content_height =
        static_cast<double>(layout_.line_begin.size()) * (options_.row_height + options_.row_gap);
    return std::move(layout_);
  }

 private:
  double Width(std::uint64_t bytes) const {
    return std::max(options_.min_bar, static_cast<double>(bytes) / layout_.bytes_per_pixel);
  }
  void NewLine() {
    layout_.line_begin.push_back(static_cast<std::uint32_t>(layout_.bars.size()));
    x_ = 0;
  }

  const MapLayoutOptions& options_;
  const bool packed_;
  double x_ = 0;
  MapLayout layout_;
};

}  // namespace

MapLayout LayOutMap(const AddressMap& map, const MapLayoutOptions& options) {
  if (map.segments.empty() || options.width <= 0) return {};
  std::uint64_t largest = 1;
  double total = 0;
  for (const MapSegment& segment : map.segments) {
    largest = std::max(largest, segment.bytes);
    total += static_cast<double>(segment.bytes);
  }
  const double room =
      std::max(1.0, std::floor(options.height / (options.row_height + options.row_gap)));
  const auto place = [&](double line_bytes, bool packed) {
    Placer placer(options, line_bytes / options.width, packed);
    for (std::size_t i = 0; i < map.segments.size(); ++i) {
      placer.Add(static_cast<int>(i), map.segments[i].bytes);
    }
    return placer.Take();
  };
  // Each line has as few bytes as possible such that all lines fit the view, so that blocks are as
  // large as possible, but at least the bytes that fill all lines. Blocks must still be visible
  // separately; if not all lines fit then, the view scrolls.
  const double least = std::max(4096.0, total / room);
  const double most = std::max(least, 10.0 * static_cast<double>(largest));
  const auto fit = [&](bool packed, double limit) {
    double line_bytes = least;
    while (line_bytes < limit && place(line_bytes, packed).content_height > options.height) {
      line_bytes *= 1.06;
    }
    return line_bytes;
  };
  // A separate line for each segment is clearer, unless shared lines would make blocks much larger.
  const double shared = fit(true, most);
  const double alone = fit(false, 1.15 * shared);
  const bool packed = alone >= 1.15 * shared;
  MapLayout layout = place((packed ? shared : alone) / std::max(options.zoom, 1e-3), packed);
  // Unused height makes the lines higher, up to a limit.
  const double stretch = std::min(options.height / layout.content_height, kMaxStretch);
  if (stretch > 1) {
    for (MapBar& bar : layout.bars) {
      bar.rect = QRectF(bar.rect.left(), bar.rect.top() * stretch, bar.rect.width(),
                        (options.row_height + options.row_gap) * stretch - options.row_gap);
    }
    layout.content_height *= stretch;
  }
  return layout;
}

std::optional<QRectF> PieceRect(const MapBar& bar, const MapSegment& segment,
                                const MapPiece& piece) {
  const std::uint64_t bar_begin = segment.address + bar.offset;
  const std::uint64_t bar_end = bar_begin + bar.bytes;
  const std::uint64_t begin = std::max(piece.address, bar_begin);
  const std::uint64_t end = std::min(piece.address + piece.bytes, bar_end);
  if (begin >= end || bar.bytes == 0) return std::nullopt;
  const double scale = bar.rect.width() / static_cast<double>(bar.bytes);
  return QRectF(bar.rect.left() + static_cast<double>(begin - bar_begin) * scale, bar.rect.top(),
                static_cast<double>(end - begin) * scale, bar.rect.height());
}

std::optional<MapHit> HitTest(const AddressMap& map, const MapLayout& layout, QPointF point) {
  for (std::size_t line = 0; line < layout.line_begin.size(); ++line) {
    const std::size_t begin = layout.line_begin[line];
    const std::size_t end =
        line + 1 < layout.line_begin.size() ? layout.line_begin[line + 1] : layout.bars.size();
    if (begin >= end || !(point.y() >= layout.bars[begin].rect.top() &&
                          point.y() < layout.bars[begin].rect.bottom())) {
      continue;
    }
    for (std::size_t i = begin; i < end; ++i) {
      const MapBar& bar = layout.bars[i];
      if (point.x() < bar.rect.left() || point.x() >= bar.rect.right()) continue;
      const MapSegment& segment = map.segments[static_cast<std::size_t>(bar.segment)];
      const double share = (point.x() - bar.rect.left()) / bar.rect.width();
      const std::uint64_t address =
          segment.address + bar.offset +
          static_cast<std::uint64_t>(share * static_cast<double>(bar.bytes));
      const auto piece = std::upper_bound(
          segment.pieces.begin(), segment.pieces.end(), address,
          [](std::uint64_t value, const MapPiece& p) { return value < p.address; });
      if (piece == segment.pieces.begin()) return MapHit{bar.segment, -1};
      return MapHit{bar.segment, static_cast<int>(piece - segment.pieces.begin()) - 1};
    }
  }
  return std::nullopt;
}

std::optional<MapHit> FindLargestHole(const AddressMap& map) {
  std::optional<MapHit> best;
  std::uint64_t bytes = 0;
  for (std::size_t s = 0; s < map.segments.size(); ++s) {
    if (!map.segments[s].framework) continue;
    const std::vector<MapPiece>& pieces = map.segments[s].pieces;
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      if (!pieces[p].hole() || pieces[p].bytes <= bytes) continue;
      bytes = pieces[p].bytes;
      best = MapHit{static_cast<int>(s), static_cast<int>(p)};
    }
  }
  return best;
}

std::optional<MapHit> FindAllocation(const AddressMap& map, analysis::AllocationId id) {
  if (!id.valid()) return std::nullopt;
  for (std::size_t s = 0; s < map.segments.size(); ++s) {
    const std::vector<MapPiece>& pieces = map.segments[s].pieces;
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      if (pieces[p].allocation == id) return MapHit{static_cast<int>(s), static_cast<int>(p)};
    }
  }
  for (std::size_t s = 0; s < map.segments.size(); ++s) {
    if (map.segments[s].allocation == id) return MapHit{static_cast<int>(s), -1};
  }
  return std::nullopt;
}

}  // namespace memprof::viewer
