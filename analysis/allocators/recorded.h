// What a log says about the recorded allocator: its requests as a trace to replay, and its figures.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "analysis/allocators/device.h"
#include "analysis/allocators/reserved_curve.h"
#include "analysis/allocators/trace.h"
#include "analysis/store/session.h"

namespace memprof::analysis::allocators {

// The source of a device's requests.
enum class RequestSource {
  kBlocks,         // blocks of a framework's allocator
  kStreamOrdered,  // cudaMallocAsync and the like; no framework was seen
  kDriver,         // cudaMalloc and the like
};

// One device of one process.
struct RecordedRun {
  int device = kNoDevice;
  std::uint32_t process = 0;  // row of Session::processes()
  RequestSource source = RequestSource::kBlocks;
  Trace trace;
  // For each of the trace's blocks the event of its birth, or of its failed request; empty = not
  // requested.
  std::vector<EventId> requests;
  // Segments in the order in which they were taken: simulated ones of the same size get their
  // addresses.
  std::vector<TraceRange> segments;
  // Likewise the ranges of addresses into which the pages of expandable segments were mapped.
  std::vector<TraceRange> ranges;
  std::uint32_t streams = 0;  // number of streams that requests named

  // Figures of the recorded allocator. Reserved bytes are those of segments, or of driver memory
  // that contains blocks; for stream-ordered memory, what its pools reported; else the allocated
  // bytes, because a log does not have the driver's rounding (see samples).
  Figures figures;
  bool has_pool_samples = false;
  std::vector<CurvePoint> reserved;  // figures.reserved over time; empty = not requested
  std::uint64_t driver_calls = 0;    // that took or released what figures.reserved counts

  std::uint64_t capacity = 0;  // bytes of the device; 0 = unknown
  // The most that the program's own memory can take of the device, from samples of free memory and
  // from failed requests; kUnlimited if the log has neither.
  std::uint64_t available = kUnlimited;
  std::uint64_t peak_outside = 0;  // bytes of the program's memory that the allocator did not hold
  std::uint64_t driver_failures = 0;  // number of driver calls that found too little memory
  bool synchronizes = false;          // the log shows synchronisations
  std::uint64_t refused = 0;  // number of requests that the recorded allocator could not serve
  // Bytes of the device in use, by any process, at each TraceOp::kSample, without those outside.
  std::vector<std::uint64_t> samples;

  // Evidence of the limit of splitting: the smallest request that got a block at least 1 MiB too
  // large, unsplit; kUnlimited if there is none.
  std::uint64_t smallest_unsplit = kUnlimited;
  std::uint64_t odd_sizes = 0;   // number of blocks whose size is no multiple of 512 bytes
  std::uint64_t rounded_up = 0;  // number of blocks larger than rounding to 512 bytes explains
  // Blocks lie in so many segments that these were not followed: which releases emptied the cache
  // is not known, and they are repeated one by one.
  bool releases_unclear = false;
};

// The device gives what a replayed allocator takes the recorded addresses: PyTorch's takes the
// lowest of equal blocks.
void ExpectRecorded(const RecordedRun& run, Device* device);

struct RecordedOptions {
  bool over_time = false;  // also Trace::rows and RecordedRun::reserved
  bool requests = true;    // also RecordedRun::requests
  std::stop_token stop;    // the result is incomplete after a stop
};

// Devices with requests, each process separately, by ordinal, then by process. O(events).
std::vector<RecordedRun> RecordedRuns(const Session& session, const RecordedOptions& options = {});

}  // namespace memprof::analysis::allocators
