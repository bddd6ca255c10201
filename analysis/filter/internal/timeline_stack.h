// A device's memory over time as bands that are stacked on each other: what it is grouped by, and
// above it what allocators and pools hold in reserve. Any window costs O(pixels), and no peak of
// any band is hidden, however far out one zooms.
//
// Kept are not the values at every event, but for every 128 events the state before them and the
// least and the most of every band's upper edge, with a pyramid above; what lies within a block is
// found by a walk through the session when it is asked for. That takes 1 to 3 bytes an event.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "analysis/categories/categories.h"
#include "analysis/filter/allocation_filter.h"
#include "analysis/store/allocation_set.h"
#include "analysis/store/session.h"
#include "analysis/timeline/pool_changes.h"
#include "analysis/timeline/pyramid.h"
#include "analysis/timeline/timeline.h"

namespace memprof::analysis {

// What a band stands for.
enum class StackBandKind : std::uint8_t {
  kTensors,      // live tensors, at most what is in use
  kBlocks,       // in use by the framework's allocator
  kLayer,        // memory of one layer
  kCategory,     // of one category
  kSite,         // made at one call site
  kStream,       // of one stream
  kProcess,      // of one process
  kOther,        // all that has no band of its own
  kFilteredOut,  // in use, but not let pass by the filter
  kCached,       // in segments of the framework's allocator, beyond what is in use
  kOtherDriver,  // asked of the driver by others than the framework's allocator
  kPools,        // held by pools and VMM of the driver beyond what was asked
};

struct StackBand {
  StackBandKind kind = StackBandKind::kOther;
  Layer layer = Layer::kUnspecified;       // of kLayer
  Category category = Category::kUnknown;  // of kCategory
  StackId site;                            // of kSite: the stack of it that held most at the peak
  std::uint64_t stream = 0;                // of kStream
  std::uint32_t process = 0;               // of kProcess: a row of Session::processes()
  std::uint32_t members = 0;               // of kOther: how many sites, streams, … it joins

  bool operator==(const StackBand&) const = default;
};

// Which memory counts in which group of a stack.
struct StackGroups {
  static constexpr std::uint8_t kNone = 0xff;
  static constexpr std::size_t kMax = 16;

  std::vector<StackBand> bands;  // at most kMax, bottom first
  // By allocation, or, where that is empty, by layer: the group of its bytes, kNone for none.
  std::vector<std::uint8_t> of_allocation;
  std::array<std::uint8_t, kLayerCount> of_layer{};
  // Of groups of sites: by stack, and last that of no stack. Empty for other groups.
  std::vector<std::uint8_t> of_stack;
  // Tensors are the lowest band, as far as the groups below `tensors_within` hold so much. 0 = no
  // band of tensors. Only tensors that `passing` holds count (null: all).
  std::uint8_t tensors_within = 0;
  std::shared_ptr<const AllocationSet> passing;
  bool framework = false;  // the groups are blocks: what segments hold beyond is a band above them
  // The groups add up to the device's driver memory: what pools hold beyond is a band above them.
  bool pools = true;
};

class StackCursor;

// Immutable once made, hence thread-safe.
class TimelineStack {
 public:
  // What is drawn or asked beside the bands' edges.
  enum class Line {
    kInUse,      // the sum of the groups
    kAllocated,  // driver bytes as requested; of the host, pinned and registered memory
    kTop,        // the upper edge of the uppermost band
  };

  // A stack by other groups of the device of `like`, O(events).
  TimelineStack(const TimelineStack& like, StackGroups groups);
  TimelineStack(const TimelineStack&) = delete;
  TimelineStack& operator=(const TimelineStack&) = delete;

  const std::shared_ptr<const Session>& session() const { return session_; }
  int device() const { return device_; }
  bool framework() const { return framework_; }  // of the device: a framework's allocator was seen
  // Bottom first. All of them hold something at some time, or pass the filter.
  std::span<const StackBand> bands() const { return bands_; }
  // The group of an allocation among the bands; -1 = in none.
  int BandOf(AllocationId id) const;
  // The band of a call site; -1 where the groups are not sites, or the site has no band of its own.
  int BandOfSite(StackId site) const;

  std::uint64_t At(Line line, TimeNs time) const;
  // Over [begin, end), as Series::Between.
  Series::Sample Between(Line line, TimeNs begin, TimeNs end) const;
  std::uint64_t Max(Line line) const;
  TimeNs TimeOfMax(Line line) const;  // the first; 0 where Max() is 0

  // Bytes of each band at a time, bottom first. They add up to Line::kTop.
  std::vector<std::uint64_t> BytesAt(TimeNs time) const;

  // Least and most of each band between times that rise weakly: [band][i] is over
  // [times[i], times[i + 1]), as Series::Between.
  struct Columns {
    std::vector<std::vector<std::uint64_t>> low, high;
  };
  // Of the upper edges: a band and all below it. Where a column holds many blocks of events, the
  // time at which it begins may be moved by up to `slack` of its width to a block's begin, the
  // same for the column before it, so that no event is left out: with 0 the answer is exact.
  // O(times × (bands × log events + 256)), without the 256 where times may be moved.
  Columns Edges(std::span<const TimeNs> times, double slack = 0) const;
  // Of the bands themselves. O(events between the first and the last time).
  Columns Bytes(std::span<const TimeNs> times) const;

  std::size_t memory_bytes() const;

 private:
  friend class StackBuilder;
  friend class StackCursor;
  friend class KindStacks;

  // Tracks are running sums: four of the device, then the groups. Outputs are functions of them:
  // the upper edges of all bands that there could be, in use, allocated.
  enum Track : std::uint8_t { kTensors, kSegments, kDriver, kBeyond, kFirstGroup };
  static constexpr std::size_t kTracks = kFirstGroup + StackGroups::kMax;
  static constexpr std::size_t kOutputs = StackGroups::kMax + 6;
  using State = std::array<std::uint64_t, kTracks>;
  using Outputs = std::array<std::uint64_t, kOutputs>;
  static constexpr std::uint32_t kBlock = 128;  // events

  struct Curve {
    std::vector<std::uint64_t> least, most;  // of each block
    MinMaxPyramid pyramid;
  };

  TimelineStack(std::shared_ptr<const Session> session, int device, bool framework,
                StackGroups groups);
  void ListBands();
  std::uint8_t GroupOf(AllocationId id, const AllocationRecord& a) const;
  int BandOfGroup(std::uint8_t group) const;
  // Of `state`: [0, all_bands_.size()) are edges, then in use, then allocated.
  void Evaluate(const State& state, Outputs& outputs) const;
  // Adds to (or takes off) the state. False where the allocation is not of this device.
  bool Apply(AllocationId id, bool birth, State& state) const;
  std::uint32_t FirstEventFrom(TimeNs time) const;
  std::size_t SlotOf(Line line) const;  // index into kept_; kept_.size() for none
  const PoolChanges& changes() const { return pools_->Of(device_); }
  std::uint32_t events() const { return static_cast<std::uint32_t>(session_->events().size()); }

  // What a slot of kept_, or a band by itself, held at least and at most.
  struct Range {
    Outputs least, most;
  };
  // Of the blocks [begin, end), joined into `range`.
  void Join(std::size_t begin, std::size_t end, Range& range) const;
  // Over [begin, end), whose events are [first, last): of edges, or, with `own`, of the bands.
  Range RangeOf(StackCursor& cursor, TimeWindow window, std::uint32_t first, std::uint32_t last,
                bool own) const;
  Columns MakeColumns(std::span<const TimeNs> times, bool own, double slack) const;
  // The first event from each time on, with the slack that Edges allows.
  std::vector<std::uint32_t> ColumnBegins(std::span<const TimeNs> times, double slack) const;

  std::shared_ptr<const Session> session_;
  int device_ = 0;
  bool framework_ = false;
  StackGroups groups_;
  std::vector<StackBand> all_bands_, bands_;
  std::vector<std::uint8_t> kept_;  // outputs of bands_, then of lines that are no edge
  std::vector<TimeNs> block_time_;
  std::vector<std::uint32_t> block_birth_;  // the first allocation born in the block, or later
  std::vector<std::uint8_t> tracks_;        // that are ever other than 0
  std::vector<std::vector<std::uint64_t>> block_state_;  // by tracks_: before the block
  std::vector<Curve> curves_;                            // by kept_
  std::shared_ptr<const DevicePools> pools_;
};

// Every device of the log that holds memory at some time, and then the host, by kind of memory:
// tensors, other blocks, or, where no framework's allocator was seen, tensors and driver memory by
// layer. One pass over the events.
std::vector<std::shared_ptr<const TimelineStack>> BuildKindStacks(
    std::shared_ptr<const Session> session);

}  // namespace memprof::analysis
