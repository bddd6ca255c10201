// What the recorded requests would have taken with other allocators: the verb `memprof replay`.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/allocators/recorded.h"
#include "analysis/allocators/spec.h"
#include "analysis/placement/placement.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// One allocator, given the requests of a device.
struct WhatIf {
  allocators::AllocatorSpec spec;
  allocators::Figures figures;
  std::uint64_t driver_calls = 0;
  bool fits = true;                  // no request failed for lack of memory
  std::int64_t saving = 0;           // of peak reserved bytes, against the recording
  bool done = false;                 // false only for figures that are still being computed
  std::vector<CurvePoint> reserved;  // bytes over time; empty = not requested
};

// How the recorded allocator was determined.
enum class SpecOrigin {
  kGiven,        // the caller named it
  kEnvironment,  // PYTORCH_CUDA_ALLOC_CONF or PYTORCH_ALLOC_CONF of the recorded process
  kLog,          // of the allocators that fit the log, the one nearest to the recorded peak
};

// One device of one process.
struct DeviceReplay {
  int device = kNoDevice;
  std::uint32_t process = 0;  // row of Session::processes()
  allocators::RequestSource source = allocators::RequestSource::kBlocks;
  std::uint64_t requests = 0, streams = 0, events = 0;  // numbers; events of the trace
  // against which `fits` and failures are computed
  std::uint64_t capacity = allocators::kUnlimited;
  bool capacity_given = false;
  std::uint64_t peak_outside = 0;  // bytes of the program's memory outside the allocator

  allocators::Figures recorded;
  std::uint64_t recorded_driver_calls = 0;
  std::vector<CurvePoint> recorded_reserved;  // bytes over time; empty = not requested
  // The recorded allocator as determined, replayed with the releases of the log; its saving is 0 by
  // definition. The residual is how far its peak of reserved bytes is from the recorded one: the
  // error of the other figures. For cudaMalloc it is how far its growth is from that of the
  // device's used memory, at the worst of `samples` samples; the peak then counts as recorded.
  WhatIf replayed;
  SpecOrigin origin = SpecOrigin::kLog;
  std::int64_t residual = 0;  // replayed - recorded bytes
  // The residual is more than 1 % of the peak, or RecordedRun::releases_unclear.
  bool uncertain = false;
  bool unchecked = false;     // cudaMalloc, with too few samples for a residual
  std::uint64_t samples = 0;  // of the device's free memory that the residual comes from; 0 = none
  std::uint64_t refused = 0;  // requests that failed in the recording, and are tried again
  // Requests whose size is not in the log and differs from the block's (EstimateRequests).
  std::uint64_t estimated = 0;

  std::vector<WhatIf> others;  // in the order of the options

  // The best arrangement found in one arena by an allocator that knows all requests, and the lower
  // bound of any: the most memory alive at one time. Both with requests rounded up to 512 bytes.
  PlacementResult placement;
  bool too_many_live = false;  // no arrangement was searched: too many allocations live at once
  std::uint64_t max_live = 0;
};

struct ReplayOptions {
  int device = kNoDevice;  // kNoDevice = all
  // Allocators to compare; empty = a choice of usual ones.
  std::vector<allocators::AllocatorSpec> others;
  // The recorded allocator, in place of what the log indicates.
  const allocators::AllocatorSpec* recorded = nullptr;
  std::uint64_t capacity = 0;    // bytes; 0 = what the recorded run had, as far as known
  double placement_seconds = 2;  // time for each device's arrangement; 0 = none
  int threads = 0;               // 0 = as many as the machine has
  // With more requests no arrangement is searched.
  std::uint64_t placement_requests = std::numeric_limits<std::uint64_t>::max();
  bool over_time = false;  // also the bytes reserved over time

  // A request to stop. Only figures that were passed to `so_far` before are valid then.
  std::stop_token stop;
  // Share of the work done, in [0, 1]; rises, but not to 1. From any thread, one at a time.
  std::function<void(double)> progress;
  // A device's figures so far: first those of the log, if it has what was reserved; then with
  // `replayed` and the lower bound; then again after each other allocator. From any thread, one at
  // a time.
  std::function<void(const DeviceReplay&)> so_far;
};

// Devices with requests, each process by itself, in order of ordinals, then of processes.
std::vector<DeviceReplay> ReplayAllocators(const Session& session, const ReplayOptions& options);

// The allocators that are compared by default.
std::vector<allocators::AllocatorSpec> UsualAllocators();

}  // namespace memprof::analysis
