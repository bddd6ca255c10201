// A device's memory over time as stacked bands: groups of memory, and above them what allocators
// and pools reserve beyond. A query of any window costs O(pixels), and no peak of a band is hidden,
// however far out one zooms.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analysis/categories/categories.h"
#include "analysis/store/allocation_set.h"
#include "analysis/store/session.h"
#include "analysis/timeline/device_rest.h"
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
  // Of the whole device, beyond the log's own memory. Between samples the last one is held.
  kCode,            // loaded modules
  kUntracked,       // in use, by unknown owners
  kOtherProcesses,  // as the driver reported
  kFree,            // up to the capacity
  kUnsampled,       // before the first sample: nothing is known of the rest
};

struct StackBand {
  StackBandKind kind = StackBandKind::kOther;
  Layer layer = Layer::kUnspecified;       // of kLayer
  Category category = Category::kUnknown;  // of kCategory
  // of kSite: the stack of the site that held most at the peak
  StackId site;
  std::uint64_t stream = 0;   // of kStream
  std::uint32_t process = 0;  // of kProcess: a row of Session::processes()
  // Of kOther: the number of sites, streams, … in it; of what samples tell: the number of samples.
  std::uint32_t members = 0;

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
  // Only what this process requested counts, a row of Session::processes(); without `pools`.
  std::optional<std::uint32_t> process;
  // Bands without height: they are still listed, and the lines below count them.
  std::vector<StackBand> hidden;
  // The rest of the device up to its capacity, as bands above all others; null: none.
  std::shared_ptr<const DeviceRest> rest;
};

struct StackData;  // internal/stack_data.h

// Immutable once made, hence thread-safe.
class TimelineStack {
 public:
  // Curves beside the bands' edges.
  enum class Line {
    kInUse,      // the sum of the groups
    kAllocated,  // driver bytes as requested; of the host, pinned and registered memory
    kTop,        // the upper edge of the uppermost band that is not hidden
  };

  explicit TimelineStack(std::unique_ptr<const StackData> data);
  // The device of `like`, with other groups. O(events).
  TimelineStack(const TimelineStack& like, StackGroups groups);
  ~TimelineStack();
  TimelineStack(const TimelineStack&) = delete;
  TimelineStack& operator=(const TimelineStack&) = delete;

  const std::shared_ptr<const Session>& session() const;
  int device() const;
  bool framework() const;  // of the device: a framework's allocator was seen
  // Bottom first. Each holds something at some time, or passes the filter.
  std::span<const StackBand> bands() const;
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
    std::vector<std::uint64_t> in_use;  // the most of Line::kInUse
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
  int BandOfGroup(std::uint8_t group) const;
  std::size_t SlotOf(Line line) const;  // index into StackData::kept; its size for none

  const std::unique_ptr<const StackData> data_;
};

// A stack by kind of memory for every device that ever holds memory, and last for the host: tensors
// and other blocks, or, if no framework's allocator was seen, tensors and driver memory by layer.
// One pass over the events.
std::vector<std::shared_ptr<const TimelineStack>> BuildKindStacks(
    std::shared_ptr<const Session> session);

}  // namespace memprof::analysis
