// A device's memory over time as stacked bands: groups of memory, and above them what allocators
// and pools reserve beyond. A query of any window costs O(pixels), and no peak of a band is hidden,
// however far out one zooms.
//
// Not the values at every event are stored, but for every 128 events the state before them, and the
// minimum and maximum of every band's upper edge, with a pyramid above. Values within a block of
// events are computed from the session when needed. That takes 1 to 3 bytes an event.
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

// The meaning of a band.
enum class StackBandKind : std::uint8_t {
  kTensors,      // live tensors, at most what is in use
  kBlocks,       // in use by the framework's allocator
  kLayer,        // memory of one layer
  kCategory,     // of one category
  kSite,         // allocated at one call site
  kStream,       // of one stream
  kProcess,      // of one process
  kOther,        // all groups without a band of their own
  kFilteredOut,  // in use, but not passing the filter
  kCached,       // in segments of the framework's allocator, beyond what is in use
  kOtherDriver,  // requested from the driver, not by the framework's allocator
  kPools,        // held by pools and VMM of the driver beyond what was requested
};

struct StackBand {
  StackBandKind kind = StackBandKind::kOther;
  Layer layer = Layer::kUnspecified;       // of kLayer
  Category category = Category::kUnknown;  // of kCategory
  // of kSite: the stack of the site that held most at the peak
  StackId site;
  std::uint64_t stream = 0;   // of kStream
  std::uint32_t process = 0;  // of kProcess: a row of Session::processes()
  std::uint32_t members = 0;  // of kOther: the number of sites, streams, … in it

  bool operator==(const StackBand&) const = default;
};

// Which memory counts in which group of a stack.
struct StackGroups {
  static constexpr std::uint8_t kNone = 0xff;
  static constexpr std::size_t kMax = 16;

  std::vector<StackBand> bands;  // at most kMax, bottom first
  // The group of an allocation's bytes, by allocation, or by layer if that is empty; kNone for
  // none.
  std::vector<std::uint8_t> of_allocation;
  std::array<std::uint8_t, kLayerCount> of_layer{};
  // For groups of sites: by stack; the last entry is for no stack. Empty for other groups.
  std::vector<std::uint8_t> of_stack;
  // Tensors are the lowest band, limited to the sum of the groups below `tensors_within`. 0 = no
  // band of tensors. Only tensors that `passing` holds count (null: all).
  std::uint8_t tensors_within = 0;
  std::shared_ptr<const AllocationSet> passing;
  bool framework = false;  // the groups are blocks: what segments hold beyond them is a band above
  // The groups add up to the device's driver memory: what pools hold beyond is a band above them.
  bool pools = true;
};

class StackCursor;

// Immutable once made, hence thread-safe.
class TimelineStack {
 public:
  // Curves beside the bands' edges.
  enum class Line {
    kInUse,      // the sum of the groups
    kAllocated,  // driver bytes as requested; of the host, pinned and registered memory
    kTop,        // the upper edge of the uppermost band
  };

  // The device of `like`, with other groups. O(events).
  TimelineStack(const TimelineStack& like, StackGroups groups);
  TimelineStack(const TimelineStack&) = delete;
  TimelineStack& operator=(const TimelineStack&) = delete;

  const std::shared_ptr<const Session>& session() const { return session_; }
  int device() const { return device_; }
  bool framework() const { return framework_; }  // of the device: a framework's allocator was seen
  // Bottom first. Each holds something at some time, or passes the filter.
  std::span<const StackBand> bands() const { return bands_; }
  // The band of an allocation; -1 = none.
  int BandOf(AllocationId id) const;
  // The band of a call site; -1 if the groups are not sites, or the site has no band of its own.
  int BandOfSite(StackId site) const;

  std::uint64_t At(Line line, TimeNs time) const;
  // Over [begin, end), as Series::Between.
  Series::Sample Between(Line line, TimeNs begin, TimeNs end) const;
  std::uint64_t Max(Line line) const;
  TimeNs TimeOfMax(Line line) const;  // the first; 0 where Max() is 0

  // Bytes of each band at a time, bottom first. Their sum is Line::kTop.
  std::vector<std::uint64_t> BytesAt(TimeNs time) const;

  // Minimum and maximum of each band between ascending times: [band][i] is over
  // [times[i], times[i + 1]), as Series::Between.
  struct Columns {
    std::vector<std::vector<std::uint64_t>> low, high;
  };
  // Of the upper edges: a band and all below it. If a column contains many blocks of events, the
  // time at which it begins may be moved by up to `slack` of its width, to the begin of a block;
  // the column before it is extended, so that no event is left out. The result is exact with 0.
  // O(times × (bands × log events + 256)), without the 256 if times may be moved.
  Columns Edges(std::span<const TimeNs> times, double slack = 0) const;
  // Of the bands themselves. O(events between the first and the last time).
  Columns Bytes(std::span<const TimeNs> times) const;

  std::size_t memory_bytes() const;

 private:
  friend class StackBuilder;
  friend class StackCursor;
  friend class KindStacks;

  // Tracks are running sums: four of the device, then the groups. Outputs are functions of them:
  // the upper edges of all possible bands, in use, allocated.
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
  // The outputs of `state`: [0, all_bands_.size()) are edges, then in use, then allocated.
  void Evaluate(const State& state, Outputs& outputs) const;
  // Adds an allocation to the state, or removes it. False if it is not of this device.
  bool Apply(AllocationId id, bool birth, State& state) const;
  std::uint32_t FirstEventFrom(TimeNs time) const;
  std::size_t SlotOf(Line line) const;  // index into kept_; kept_.size() for none
  const PoolChanges& changes() const { return pools_->Of(device_); }
  std::uint32_t events() const { return static_cast<std::uint32_t>(session_->events().size()); }

  // The minimum and maximum of a slot of kept_, or of one band.
  struct Range {
    Outputs least, most;
  };
  // Adds the blocks [begin, end) to `range`.
  void Join(std::size_t begin, std::size_t end, Range& range) const;
  // Over [begin, end), which has the events [first, last): of edges, or, with `own`, of the bands.
  Range RangeOf(StackCursor& cursor, TimeWindow window, std::uint32_t first, std::uint32_t last,
                bool own) const;
  Columns MakeColumns(std::span<const TimeNs> times, bool own, double slack) const;
  // The first event at or after each time, with the slack that Edges allows.
  std::vector<std::uint32_t> ColumnBegins(std::span<const TimeNs> times, double slack) const;

  std::shared_ptr<const Session> session_;
  int device_ = 0;
  bool framework_ = false;
  StackGroups groups_;
  std::vector<StackBand> all_bands_, bands_;
  std::vector<std::uint8_t> kept_;  // outputs of bands_, then of lines that are no edge
  std::vector<TimeNs> block_time_;
  std::vector<std::uint32_t> block_birth_;  // the first allocation born in the block, or later
  std::vector<std::uint8_t> tracks_;        // those that are ever not 0
  std::vector<std::vector<std::uint64_t>> block_state_;  // by tracks_: before the block
  std::vector<Curve> curves_;                            // by kept_
  std::shared_ptr<const DevicePools> pools_;
};

// A stack by kind of memory for every device that ever holds memory, and last for the host: tensors
// and other blocks, or, if no framework's allocator was seen, tensors and driver memory by layer.
// One pass over the events.
std::vector<std::shared_ptr<const TimelineStack>> BuildKindStacks(
    std::shared_ptr<const Session> session);

}  // namespace memprof::analysis
