// What the recorded requests would have taken with other allocators: memprof replay.
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

// One allocator, fed with the requests of a device.
struct WhatIf {
  allocators::AllocatorSpec spec;
  allocators::Figures figures;
  std::uint64_t driver_calls = 0;
  bool fits = true;                  // no request found too little memory
  std::int64_t saving = 0;           // of peak reserved bytes, against what was recorded
  bool done = false;                 // the figures are there: false only for what is still to come
  std::vector<CurvePoint> reserved;  // bytes over time; empty = not asked for
};

// Why an allocator is taken for the recorded one.
enum class SpecOrigin {
  kGiven,        // the caller says so
  kEnvironment,  // PYTORCH_CUDA_ALLOC_CONF or PYTORCH_ALLOC_CONF of the recorded process
  kLog,          // of those that the log allows, it comes nearest to the recorded peak
};

// One device of one process.
struct DeviceReplay {
  int device = kNoDevice;
  std::uint32_t process = 0;  // row of Session::processes()
  allocators::RequestSource source = allocators::RequestSource::kBlocks;
  std::uint64_t requests = 0, streams = 0, events = 0;  // numbers; events of the trace
  std::uint64_t capacity = allocators::kUnlimited;      // that `fits` and failures refer to
  bool capacity_given = false;
  std::uint64_t peak_outside = 0;  // bytes of the program's memory beside the allocator's

  allocators::Figures recorded;
  std::uint64_t recorded_driver_calls = 0;
  std::vector<CurvePoint> recorded_reserved;  // bytes over time; empty = not asked for
  // The recorded allocator as it is understood, replayed with what the log says it did; saving is 0
  // by definition. How far its peak of reserved bytes is from the recorded one is the residual:
  // what the other figures are in doubt by. For cudaMalloc it is how far its growth is from that of
  // the device's used memory at the worst of `samples` samples, and the peak is taken for recorded.
  WhatIf replayed;
  SpecOrigin origin = SpecOrigin::kLog;
  std::int64_t residual = 0;  // replayed - recorded bytes
  bool uncertain = false;     // the residual is more than 1 % of the peak
  bool unchecked = false;     // cudaMalloc, and too few samples to tell a residual
  std::uint64_t samples = 0;  // of the device's free memory that the residual comes from; 0 = none
  std::uint64_t refused = 0;  // requests that were refused when recorded, and are tried again
  // Requests whose bytes the log does not have and the block is no measure of (EstimateRequests).
  std::uint64_t estimated = 0;

  std::vector<WhatIf> others;  // in the order asked for

  // The best arrangement found for one arena that knows the future, and what no arrangement can do
  // without: the most that was alive at a time. Requests are rounded up to 512 bytes in both.
  PlacementResult placement;
  bool too_many_live = false;  // none was sought: to place what lives at once would take hours
  std::uint64_t max_live = 0;
};

struct ReplayOptions {
  int device = kNoDevice;  // kNoDevice = all
  // To compare with; empty = a choice of what is often worth trying.
  std::vector<allocators::AllocatorSpec> others;
  // What was recorded, in place of what the log seems to say.
  const allocators::AllocatorSpec* recorded = nullptr;
  std::uint64_t capacity = 0;    // bytes; 0 = what the recorded run could have, as far as is known
  double placement_seconds = 2;  // time for each device's arrangement; 0 = none is sought
  int threads = 0;               // 0 = as many as the machine has
  // For more requests no arrangement is sought.
  std::uint64_t placement_requests = std::numeric_limits<std::uint64_t>::max();
  bool over_time = false;  // also the bytes reserved over time

  // For those who wait for it. What is left when asked to stop is of no use but for what was
  // announced before.
  std::stop_token stop;
  // Share of the work done, in [0, 1]; rises, but not to 1. From any thread, one at a time.
  std::function<void(double)> progress;
  // A device's figures so far: first those of what was recorded, then again for each other one that
  // is done. From any thread, one at a time.
  std::function<void(const DeviceReplay&)> so_far;
};

// Devices with requests, each process by itself, in order of ordinals, then of processes.
std::vector<DeviceReplay> ReplayAllocators(const Session& session, const ReplayOptions& options);

// What is compared with where nothing else is said.
std::vector<allocators::AllocatorSpec> UsualAllocators();

}  // namespace memprof::analysis
