// Requests for memory that failed: why, where every byte of the device was at that instant, and
// what would have let them fit. Method: docs/oom.md.
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
#include "analysis/store/session.h"
#include "analysis/symbols/site_groups.h"
#include "analysis/timeline/ledger.h"
#include "analysis/timeline/timeline.h"

namespace memprof::analysis {

// A request that failed. Where a framework's allocator gave up because the driver refused it a
// segment, the two are one.
struct FailedRequest {
  EventId event;
  EventId driver;  // the driver's refusal: `event` itself, or what made the allocator give up; none
  TimeNs time = 0;
  std::int64_t step = -1;
  int device = kNoDevice;
  Layer layer = Layer::kUnspecified;
  StackId stack;
  StringId api;                    // of the driver's call
  std::uint32_t result = 0;        // of the driver's call
  bool framework = false;          // an allocator gave up
  std::uint64_t bytes = 0;         // asked for
  std::uint64_t driver_bytes = 0;  // what the driver was asked for; `bytes` if it was not asked
  int attempts = 1;                // refusals of the driver that belong to this
  bool recovered = false;          // the same thread then got as much of the same kind
};

// In order of time. O(events).
std::vector<FailedRequest> FindFailures(const Session& session);
// The same, found once a session.
std::shared_ptr<const std::vector<FailedRequest>> FailuresOf(const Session& session);

// The free memory of one kind in the segments of an allocator.
struct FreePieces {
  std::uint64_t bytes = 0, largest = 0, count = 0;
};

// Every byte of a device at one instant. It closes, if the capacity is known (total is not 0):
//   total + elsewhere = free + blocks + rounding + own_pool + other_pools + private_pools +
//                       foreign + cached + direct + modules + pools + others + untracked
struct DeviceSpace {
  bool sampled = false;  // the driver said what was free; else the capacity less what is known
  TimeNs sample_time = 0;
  std::uint64_t total = 0, free = 0;
  std::uint64_t blocks = 0;         // of allocators, as the program asked for
  std::uint64_t rounding = 0;       // block sizes beyond that
  FreePieces own_pool;              // in segments in use, that could serve this request's kind
  FreePieces other_pools;           // in segments in use of another stream, or for other sizes
  FreePieces private_pools;         // in segments that CUDA graphs keep, whole ones too
  FreePieces foreign;               // in segments of other processes of the session
  FreePieces cached;                // whole segments without a block
  std::uint64_t own_cached = 0;     // of these, what is of the request's own pool
  std::uint64_t whole_pages = 0;    // pages of 2 MiB of segments without any byte in use
  std::uint64_t largest_own = 0;    // the largest piece that the allocator could have used
  std::uint64_t largest_other = 0;  // the largest that belongs to another pool
  std::array<std::uint64_t, kLayerCount> direct{};  // driver memory that no allocator suballocates
  std::uint64_t modules = 0;
  std::uint64_t pools = 0;              // what driver pools and VMM hold beyond live memory
  std::optional<std::uint64_t> others;  // other processes; none = nobody could tell
  std::uint64_t untracked = 0;          // used, and nobody knows by what
  std::uint64_t elsewhere = 0;          // known of, and not on the device

  std::uint64_t known() const;  // all but free and untracked
};

enum class FailureCause {
  kCapacity,       // there was not so much, in whatever pieces
  kFragmentation,  // enough was free, but not in one piece
  kOtherPool,      // a free piece was large enough, but belongs to another stream or size class
  kAllocatorRule,  // a piece of the right pool was large enough, and was not used
  kSegmentSize,    // the driver had enough, but the allocator asks it for larger segments
  kReserve,        // an allocator or a pool held enough in reserve
  kDespiteFree,    // the driver refused although it said that so much was free
  kTooLarge,       // more than the device has
  kHostMemory,     // it was not the device's memory that was asked for
  kRefused,        // another error than want of memory
  kUnknown,        // how much was asked for, or what was free, is not in the log
};
std::string_view FailureCauseName(FailureCause cause);

// Live memory of one call site, largest first.
struct SiteUse {
  std::uint32_t site = 0;  // SiteGroups
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
};

enum class RemedyKind {
  kReleaseCache,    // whole unused segments back to the driver
  kTrimPools,       // what driver pools hold in reserve
  kSmallSegments,   // the allocator asks the driver for no more than it needs
  kOnePool,         // one pool for all streams and sizes
  kExpandable,      // segments of mapped pages: unused pages of 2 MiB serve anything
  kPacked,          // all free memory in one piece: no allocator can do better
  kFreeBlocks,      // the cheapest neighbouring blocks, freed, leave a hole that is large enough
  kSites,           // the fewest call sites without whose memory it would have fitted
  kOtherProcesses,  // what other processes use
  kSmallerRequest,  // the most that would have fitted
  kLargerDevice,    // so much more memory
};
std::string_view RemedyKindName(RemedyKind kind);

struct Remedy {
  RemedyKind kind = RemedyKind::kLargerDevice;
  bool fits = false;
  std::uint64_t bytes = 0;           // what it gives; kSmallerRequest: the most that fits
  std::uint64_t beyond = 0;          // what of that this request leaves to those after it
  std::uint64_t short_by = 0;        // what is still missing, 0 if it fits
  std::vector<SiteUse> sites;        // of kSites
  std::vector<AllocationId> blocks;  // of kFreeBlocks, by address
};

// Live bytes of a site now and at the matching instant of the step before.
struct SiteChange {
  std::uint32_t site = 0;
  std::uint64_t before = 0, after = 0;
};

// Call sites that leak (analysis/leaks/leaks.h), or a line that left more behind with each turn,
// and hold more than was asked for and more than lay unused: these filled the device, whatever the
// last request ran into.
struct FailureGrowth {
  StackId stack;  // of the one that holds most
  SourceFrame site;
  std::size_t sites = 0;      // that leak on this device
  std::size_t iterations = 0;      // of the line; 0 where leaks were found by steps
  std::uint64_t bytes = 0;    // live at them
  double bytes_per_step = 0;  // or per turn
};

// Where no step was done yet: what of it was to come, if the run trains.
struct FirstStep {
  bool backward = false, optimizer = false;  // had begun
  std::uint64_t parameters = 0;              // that were there
  std::uint64_t gradients = 0;        // at least to come: as much as the parameters, in the end
  std::uint64_t optimizer_state = 0;  // at least to come with Adam
};

// Where the step held more than any step before it, or more than the last one did at the same call:
// its rest will need more, too.
struct LargerStep {
  std::uint64_t live = 0;            // at the failure
  std::uint64_t highest_before = 0;  // of all steps before; 0 = larger at the same call alone
  SourceFrame site;                  // that holds most more than in the step before
  std::uint64_t more = 0;            // so much
};

struct FailureReport {
  FailedRequest request;
  SourceFrame site;  // the place that a person would name for the request
  FailureCause cause = FailureCause::kUnknown;
  std::optional<FailureGrowth> growth;
  std::optional<FirstStep> first_step;    // not where there is growth
  std::optional<LargerStep> larger_step;  // not where there is either
  bool small_pool = false;         // of an allocator: the request is one for its small segments
  std::uint64_t stream = 0;        // of an allocator: the stream that is taken to be the request's
  std::uint64_t private_pool = 0;  // likewise the pool of CUDA graphs; 0 = none
  DeviceSpace space;
  std::uint64_t missing = 0;   // what the driver had too little of
  std::vector<SiteUse> sites;  // blocks and uncarved driver memory, largest first
  // Those that suffice first, the least drastic first. If memory grew, or more of the step is to
  // come, before them the sites that grew, then what leaves most for what comes after.
  std::vector<Remedy> remedies;
  // What one step changed; none where there is no step before.
  std::int64_t compared_step = -1;
  bool same_call = false;  // compared at the same call of that step, else at its end
  std::uint64_t live_before = 0, live_after = 0;
  std::vector<SiteChange> changes;  // by size of the change
};

// Tells what failures mean. Making it costs O(events), each failure O(live pieces × sites). Not
// thread-safe.
class FailureExplainer {
 public:
  FailureExplainer(const Session& session, Symbols& symbols, SiteGroups& sites);
  FailureReport Explain(const FailedRequest& request);
  // The site of a request, as anywhere (analysis/symbols/site_choice.h).
  SourceFrame SiteOf(const FailedRequest& request) const;

 private:
  const Session& session_;
  Symbols& symbols_;
  SiteGroups& sites_;
  std::shared_ptr<const MemorySamples> samples_;
  std::shared_ptr<const DeviceTimelines> timelines_;
};

// How close a device came to being full.
struct Headroom {
  int device = 0;
  std::uint64_t total = 0;  // 0 = unknown
  std::size_t samples = 0;
  std::uint64_t lowest_free = 0;  // of the samples
  TimeNs lowest_time = 0;
  // Between samples too: total, less the most that the log knew of, less what the sample before
  // had beyond that.
  std::uint64_t lowest = 0;
  TimeNs time = 0;
  std::int64_t step = -1;
  std::uint64_t reusable = 0;  // free in the segments of allocators at that time
};
std::vector<Headroom> FindHeadroom(const Session& session);

}  // namespace memprof::analysis
