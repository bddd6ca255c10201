// Failed requests for memory: the cause, the use of every byte of the device at that instant, and
// what would have made them fit. Method: docs/oom.md.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/leaks/leaks.h"
#include "analysis/remedies/remedies.h"
#include "analysis/store/session.h"
#include "analysis/symbols/site_groups.h"
#include "analysis/timeline/ledger.h"
#include "analysis/timeline/timeline.h"

namespace memprof::analysis {

// A failed request. If a framework's allocator failed because the driver refused it a segment, the
// two are one request.
struct FailedRequest {
  EventId event;
  // the driver's refusal: `event` itself, or the one before the allocator failed; none
  EventId driver;
  TimeNs time = 0;
  std::int64_t step = -1;
  int device = kNoDevice;
  Layer layer = Layer::kUnspecified;
  StackId stack;
  StringId api;                    // of the driver's call
  std::uint32_t result = 0;        // of the driver's call
  bool framework = false;          // an allocator failed
  std::uint64_t bytes = 0;         // requested
  std::uint64_t driver_bytes = 0;  // requested from the driver; `bytes` if nothing was
  int attempts = 1;                // refusals of the driver for this request
  bool recovered = false;          // the same thread then got as much memory of the same kind
};

// In order of time. O(events).
std::vector<FailedRequest> FindFailures(const Session& session);
// Computed once a session.
std::shared_ptr<const std::vector<FailedRequest>> FailuresOf(const Session& session);

// Free memory of one kind in the segments of an allocator.
struct FreePieces {
  std::uint64_t bytes = 0, largest = 0, count = 0;
};

// Every byte of a device at one instant. It closes, if the capacity is known (total is not 0):
//   total + elsewhere = free + blocks + rounding + own_pool + other_pools + private_pools +
//                       foreign + cached + direct + modules + pools + others + untracked
struct DeviceSpace {
  // the driver reported the free memory; else it is the capacity less all known use
  bool sampled = false;
  TimeNs sample_time = 0;
  std::uint64_t total = 0, free = 0;
  std::uint64_t blocks = 0;         // of allocators, as requested
  std::uint64_t rounding = 0;       // block sizes beyond the requests
  FreePieces own_pool;              // in segments in use that could serve this kind of request
  FreePieces other_pools;           // in segments in use of another stream, or for other sizes
  FreePieces private_pools;         // in segments that CUDA graphs keep, whole ones too
  FreePieces foreign;               // in segments of other processes of the session
  FreePieces cached;                // whole segments without a block
  std::uint64_t own_cached = 0;     // of these, in the request's own pool
  std::uint64_t whole_pages = 0;    // pages of 2 MiB of segments without any byte in use
  std::uint64_t largest_own = 0;    // the largest piece that the allocator could have used
  std::uint64_t largest_other = 0;  // the largest that belongs to another pool
  std::array<std::uint64_t, kLayerCount> direct{};  // driver memory that no allocator suballocates
  std::uint64_t modules = 0;
  std::uint64_t pools = 0;              // held by driver pools and VMM beyond live memory
  std::optional<std::uint64_t> others;  // other processes; none = not known
  std::uint64_t untracked = 0;          // in use, by unknown owners
  std::uint64_t elsewhere = 0;          // known, and not on the device

  std::uint64_t known() const;  // all but free and untracked
};

enum class FailureCause {
  kCapacity,       // not enough in total
  kFragmentation,  // enough was free, but not in one piece
  kOtherPool,      // a free piece was large enough, but belongs to another stream or size class
  kAllocatorRule,  // a piece of the right pool was large enough, and was not used
  kSegmentSize,    // the driver had enough, but the allocator requests larger segments
  kReserve,        // an allocator or a pool held enough in reserve
  kDespiteFree,    // the driver refused although it reported enough free memory
  kTooLarge,       // more than the device has
  kHostMemory,     // the request was for host memory
  kRefused,        // an error other than a lack of memory
  kUnknown,        // the log lacks the requested size, or the free memory
};
std::string_view FailureCauseName(FailureCause cause);

// Live memory of one call site.
struct SiteUse {
  std::uint32_t site = 0;  // SiteGroups
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
};

enum class RemedyKind {
  kReleaseCache,    // release whole unused segments to the driver
  kTrimPools,       // release the reserve of driver pools
  kSmallSegments,   // the allocator requests no larger segments than it needs
  kOnePool,         // one pool for all streams and sizes
  kExpandable,      // segments of mapped pages: unused pages of 2 MiB serve anything
  kPacked,          // all free memory in one piece: the best that any allocator can do
  kFreeBlocks,      // free the cheapest neighbouring blocks that leave a large enough hole
  kSites,           // the fewest call sites without whose memory it would have fitted
  kTraining,        // a known change of the training (analysis/remedies/remedies.h)
  kOtherProcesses,  // the memory of other processes
  kSmallerRequest,  // the largest request that would have fitted
  kLargerDevice,    // that much more memory
};
std::string_view RemedyKindName(RemedyKind kind);

struct Remedy {
  RemedyKind kind = RemedyKind::kLargerDevice;
  bool fits = false;
  std::uint64_t bytes = 0;           // that it provides; kSmallerRequest: the most that fits
  std::uint64_t beyond = 0;          // what of that remains for later requests
  std::uint64_t short_by = 0;        // still missing; 0 if it fits
  std::vector<SiteUse> sites;        // of kSites
  std::vector<AllocationId> blocks;  // of kFreeBlocks, by address
  std::string change;                // of kTraining: "checkpointing of Block"
};

// Live bytes of a site now, and at the matching instant of the step before.
struct SiteChange {
  std::uint32_t site = 0;
  std::uint64_t before = 0, after = 0;
};

// Call sites that leak (analysis/leaks/leaks.h), or a line that left more behind in each iteration.
// They hold more than was requested and more than was unused: so they filled the device, whatever
// the last request was.
struct FailureGrowth {
  StackId stack;  // of the one that holds most
  SourceFrame site;
  std::size_t sites = 0;       // that leak on this device
  std::size_t iterations = 0;  // of the line; 0 where leaks were found by steps
  bool replaced = false;       // iterations free what those before made: it becomes larger
  std::uint64_t bytes = 0;     // live at them
  double bytes_per_step = 0;   // or per iteration
};

// For a failure in the first step, or in an optimizer's first: what the rest of the step will need,
// if the run trains.
struct FirstStep {
  bool backward = false, optimizer = false;  // has begun
  bool steps_before = false;                 // of another optimizer
  bool adam = false;                         // requested it
  bool temporaries = false;                  // requested by the optimizer, whose state is complete
  std::uint64_t parameters = 0;              // that were there
  std::uint64_t gradients_there = 0, state_there = 0;
  // at least still to come: in the end as much as the parameters
  std::uint64_t gradients = 0;
  std::uint64_t optimizer_state = 0;  // at least to come with Adam
};

// For a step that held more than any step before it, or more than the last one did at the same
// call: its rest will need more, too.
struct LargerStep {
  std::uint64_t live = 0;            // at the failure
  std::uint64_t highest_before = 0;  // of all earlier steps; 0 = larger only at the same call
  SourceFrame site;                  // with the largest increase over the step before
  std::uint64_t more = 0;            // the increase
};

struct FailureReport {
  FailedRequest request;
  SourceFrame site;  // the user's place of the request
  FailureCause cause = FailureCause::kUnknown;
  std::optional<FailureGrowth> growth;
  std::optional<FirstStep> first_step;    // not if there is growth
  std::optional<LargerStep> larger_step;  // not if there is growth or a first step
  bool small_pool = false;                // of an allocator: the request is for its small segments
  std::uint64_t stream = 0;               // of an allocator: the assumed stream of the request
  std::uint64_t private_pool = 0;         // the same for the pool of CUDA graphs; 0 = none
  DeviceSpace space;
  std::uint64_t missing = 0;                    // what the driver lacked
  std::vector<SiteUse> sites;                   // blocks and undivided driver memory, largest first
  std::vector<Holder> holders;                  // of the same memory; empty if nobody looked
  HolderTree held_by;                           // the same
  std::optional<WithoutHolder> without_holder;  // the rest of it; nothing if nobody looked
  // Sufficient ones first, the least drastic first. If memory grew, or more of the step is to come,
  // the sites that grew precede them, then the one that leaves most for later requests.
  std::vector<Remedy> remedies;
  // The change within one step; none if there is no step before.
  std::int64_t compared_step = -1;
  bool same_call = false;  // compared at the same call of that step; else at its end
  std::uint64_t live_before = 0, live_after = 0;
  std::vector<SiteChange> changes;  // by size of the change
};

// Explains failures. Construction costs O(events), each failure O(live pieces × sites). Not
// thread-safe.
class FailureExplainer {
 public:
  FailureExplainer(const Session& session, Symbols& symbols, SiteGroups& sites);
  FailureReport Explain(const FailedRequest& request);
  // The site of a request, as anywhere (analysis/symbols/site_choice.h).
  SourceFrame SiteOf(const FailedRequest& request) const;

 private:
  // Found when first needed.
  const PeakRemedies& Training();

  const Session& session_;
  Symbols& symbols_;
  SiteGroups& sites_;
  std::shared_ptr<const Holders> holders_;
  std::shared_ptr<const MemorySamples> samples_;
  std::shared_ptr<const DeviceTimelines> timelines_;
  std::optional<PeakRemedies> training_;
};

// How close a device came to being full.
struct Headroom {
  int device = 0;
  std::uint64_t total = 0;  // 0 = unknown
  std::size_t samples = 0;
  std::uint64_t lowest_free = 0;  // of the samples
  TimeNs lowest_time = 0;
  // Also between samples: the total, minus the largest known use, minus the unknown use in the
  // sample before.
  std::uint64_t lowest = 0;
  TimeNs time = 0;
  std::int64_t step = -1;
  std::uint64_t reusable = 0;  // free in the segments of allocators at that time
};
std::vector<Headroom> FindHeadroom(const Session& session);

}  // namespace memprof::analysis
