// The content of the address map at one instant: layout, sites by rank, names, pins. Built off the
// GUI thread; immutable.
#pragma once

#include <QString>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analysis/fragmentation/fragmentation.h"
#include "analysis/oom/oom.h"
#include "analysis/symbols/symbols.h"
#include "analysis/timeline/address_map.h"
#include "viewer/models/site_colors.h"

namespace memprof::viewer {

struct MapSite {
  analysis::StackId stack;
  QString name;  // "function (file:line)"
  std::uint64_t bytes = 0;
  QString key;     // identifies it (NamedSite)
  int color = -1;  // Theme::Categorical
};

// The bytes of a map in the words of the other views. Where a framework's allocator is seen,
// `in_use` and `reserved` are its own, and `other` is driver memory that it does not divide; else
// 0.
struct MapTotals {
  std::uint64_t in_use = 0, reserved = 0, other = 0;
};
MapTotals TotalsOf(const analysis::AddressMap& map);

struct MapPicture {
  analysis::AddressMap map;
  std::vector<MapSite> sites;             // largest first
  std::map<analysis::StackId, int> rank;  // index into `sites`
  std::map<analysis::AllocationId, analysis::Pin> pins;
  QString pinned_by;  // the worst pin as text; empty without one
  analysis::AllocationId worst_pin;
  std::uint64_t largest_block = 0;  // bytes, for colours by size
  std::int64_t step = -1;
  // The failed request on this device that is nearest to the instant; none if there is none.
  std::optional<analysis::FailedRequest> request;
  QString request_text;  // its size, compared with the largest hole

  // The private pools of segments, numbered from the lowest address on; for their colours.
  std::map<std::uint64_t, int> pools;

  // Whether the block is marked: freeing it would join free memory of at least half its own size.
  bool Pins(analysis::AllocationId id) const {
    const auto pin = pins.find(id);
    return pin != pins.end() && 2 * pin->second.frees_bytes >= pin->second.bytes;
  }

  // The stack of an allocation's site; none for holes.
  static analysis::StackId SiteOf(const analysis::Session& session, analysis::AllocationId id);
};

// For the history's session. `failures`: all, of any device. `colors`: null: by rank.
std::shared_ptr<const MapPicture> MakeMapPicture(
    const analysis::FragmentationHistory& history, analysis::Symbols& symbols, int device,
    analysis::TimeNs time, std::span<const analysis::FailedRequest> failures = {},
    SiteColors* colors = nullptr);

// Why a hole is no larger: the blocks beside it, and the one of them whose free would make the
// larger hole (if equal, the smaller block). Empty if nothing is in the segment.
struct HoleStory {
  QString text;
  analysis::AllocationId pin;
};
HoleStory DescribeHole(const analysis::Session& session, const MapPicture& picture, int segment,
                       int piece);

// The tensor in a block, or the tensor itself, at an instant, as text; "" for none.
QString TensorAt(const analysis::Session& session, analysis::AllocationId id,
                 analysis::TimeNs time);

// The tooltip of a piece of the map: rich text.
QString DescribePiece(const analysis::Session& session, const MapPicture& picture, int segment,
                      int piece);

}  // namespace memprof::viewer
