// The content of the page on holes: pools over time, computed once for a session; and the blocks
// that pin holes at an instant.
#pragma once

#include <QString>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "analysis/fragmentation/fragmentation.h"
#include "analysis/fragmentation/series.h"
#include "analysis/symbols/symbols.h"
#include "viewer/geometry/axis.h"
#include "viewer/geometry/timeline_columns.h"
#include "viewer/models/document.h"
#include "viewer/models/fact_table.h"

namespace memprof::viewer {

struct PoolsPicture {
  std::vector<analysis::PoolTimeline> pools;

  // The pools of a device, as indices into `pools`.
  std::vector<std::size_t> Of(int device) const;
  // Whether any of them has segments with known positions of blocks.
  bool HasSegments(int device) const;
  // The instant at which most memory was free and pinned in any pool of a device; null without
  // pools.
  const analysis::FragmentationPoint* Worst(int device) const;
};

// Null after a request to stop. At 10⁷ events a few MiB for each pool.
std::shared_ptr<const PoolsPicture> MakePoolsPicture(const analysis::Session& session,
                                                     const std::function<void(double)>& progress,
                                                     const std::stop_token& stop);

// "small blocks", "large blocks, stream 0x7f…", "driver pool 0x55…".
QString PoolName(const analysis::PoolSeries& pool);
QString PoolName(const analysis::PoolFragmentation& pool);

// The pixel columns of a pool's curves, with exact extremes.
struct PoolColumns {
  enum Band : std::size_t { kInUse, kReserved };

  TimelineColumns stack;                    // memory in use, and above it the maximum reserved
  std::vector<std::uint64_t> largest_hole;  // the maximum in the column
  std::vector<std::uint64_t> share;         // pinned, in millionths: the maximum in the column

  bool Fit(const TimeScale& scale, int columns) const { return stack.Fit(scale, columns); }
};
PoolColumns MakePoolColumns(const analysis::PoolTimeline& pool, const TimeScale& scale,
                            int columns);

struct HolesPicture {
  int device = 0;
  analysis::TimeNs time = 0;
  std::int64_t step = -1;
  std::uint64_t free_bytes = 0, largest_hole = 0, holes = 0, releasable = 0, pinned = 0;
  std::vector<FactRow> pin_rows;   // blocks that pin most first; of all pools
  std::vector<FactRow> hole_rows;  // largest first; each selects the smaller of its neighbours
};

std::shared_ptr<const HolesPicture> MakeHolesPicture(const analysis::FragmentationHistory& history,
                                                     analysis::Symbols& symbols, int device,
                                                     analysis::TimeNs time);
std::vector<FactColumn> PinColumns();
std::vector<FactColumn> HoleColumns();

}  // namespace memprof::viewer
