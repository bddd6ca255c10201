// What a log says of the allocator that was recorded: its requests as a trace to replay, and what
// came of them.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "analysis/allocators/internal/trace.h"
#include "analysis/allocators/reserved_curve.h"
#include "analysis/store/session.h"

namespace memprof::analysis::allocators {

// Where the requests of a device were read from.
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
  // The event of each of the trace's blocks: its birth, or that of being refused; empty = not asked
  // for.
  std::vector<EventId> requests;
  // Segments as they were taken, in order: simulated ones of the same size lie there too.
  std::vector<TraceRange> segments;
  std::uint32_t streams = 0;  // number of streams that requests named

  // The recorded allocator's own. Reserved bytes are those of segments, or of driver memory that
  // holds blocks; for stream-ordered memory what pools said they held; else equal to allocated,
  // because a log does not say what the driver rounds to (see samples).
  Figures figures;
  bool has_pool_samples = false;
  std::vector<CurvePoint> reserved;  // figures.reserved over time; empty = not asked for
  std::uint64_t driver_calls = 0;    // that took or gave back what figures.reserved counts

  std::uint64_t capacity = 0;  // bytes of the device; 0 = unknown
  // Bytes of the device that the program's own memory can take at most, by samples of free memory
  // and by failed requests; kUnlimited where the log says nothing.
  std::uint64_t available = kUnlimited;
  std::uint64_t peak_outside = 0;  // bytes of the program's memory that the allocator did not hold
  std::uint64_t driver_failures = 0;  // number of driver calls that found too little memory
  bool synchronizes = false;          // the log shows synchronisations
  std::uint64_t refused = 0;  // number of requests that the recorded allocator could not serve
  // Bytes of the device in use, by whomever, at each TraceOp::kSample, without those outside.
  std::vector<std::uint64_t> samples;

  // Evidence for how blocks are split: the smallest request of a block that was at least 1 MiB too
  // large and kept whole; kUnlimited if there is none.
  std::uint64_t smallest_unsplit = kUnlimited;
  std::uint64_t odd_sizes = 0;   // number of blocks that are no multiple of 512 bytes
  std::uint64_t rounded_up = 0;  // number of blocks larger than rounding to 512 bytes explains
};

struct RecordedOptions {
  bool over_time = false;  // also Trace::rows and RecordedRun::reserved
  bool requests = true;    // also RecordedRun::requests
  std::stop_token stop;    // what was read until then is of no use
};

// Devices with requests, each process by itself, in order of ordinals, then of processes.
// O(events).
std::vector<RecordedRun> RecordedRuns(const Session& session, const RecordedOptions& options = {});

}  // namespace memprof::analysis::allocators
