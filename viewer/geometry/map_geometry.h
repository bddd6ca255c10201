// The positions of the pieces of an address map. Pure; thread-safe.
//
// Segments are drawn as bars on one scale, in order of address. A segment longer than a line
// continues on the next one; if there are too many for a line each, short ones share lines.
#pragma once

#include <QRectF>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/timeline/address_map.h"

namespace memprof::viewer {

struct MapLayoutOptions {
  double left = 0;    // where bars begin; labels are left of it
  double width = 0;   // of a line of bars
  double height = 0;  // of the view; the layout may be higher and then scrolls
  double row_height = 22;
  double row_gap = 4;  // between lines of one segment and of the next
  double min_bar = 3;  // no segment is narrower
  double zoom = 1;     // > 1: fewer bytes per pixel than what fits
};

// A part of a segment on one line: bytes [offset, offset + bytes) of it.
struct MapBar {
  int segment = 0;
  int line = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  QRectF rect;
  bool first = true;  // the segment begins here
};

struct MapLayout {
  double bytes_per_pixel = 1;
  double content_height = 0;
  std::vector<MapBar> bars;               // by line, then from left to right
  std::vector<std::uint32_t> line_begin;  // index into bars by line
};

MapLayout LayOutMap(const analysis::AddressMap& map, const MapLayoutOptions& options);

// The part of a piece that lies in a bar; null when it does not.
std::optional<QRectF> PieceRect(const MapBar& bar, const analysis::MapSegment& segment,
                                const analysis::MapPiece& piece);

struct MapHit {
  int segment = -1;
  int piece = -1;  // -1: the segment has none there
};
// The piece at a point; none outside of all bars.
std::optional<MapHit> HitTest(const analysis::AddressMap& map, const MapLayout& layout,
                              QPointF point);

// The largest hole of the map, as segment and piece; none if there is no hole.
std::optional<MapHit> FindLargestHole(const analysis::AddressMap& map);

// The piece of an allocation, or the segment if the allocation is a segment.
std::optional<MapHit> FindAllocation(const analysis::AddressMap& map, analysis::AllocationId id);

}  // namespace memprof::viewer
