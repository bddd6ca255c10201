#include "analysis/allocators/asked.h"

#include "analysis/allocators/caching.h"

namespace memprof::analysis::allocators {

std::vector<AskedBytes> RequestedBytes(const RecordedRun& run, const AllocatorSpec& spec) {
  const Trace& trace = run.trace;
  std::vector<AskedBytes> asked;
  for (const TraceBlock& block : trace.blocks) asked.push_back({block.bytes, block.bytes});
  if (spec.kind != AllocatorKind::kCaching) return asked;
  Device device;
  ExpectRecorded(run, &device);
  CachingAllocator allocator(spec.caching, &device);
  Replay(trace, &allocator, &device,
         {.as_recorded = true, .served = [&](std::uint32_t block, Handle handle) {
            const std::uint64_t bytes = trace.blocks[block].bytes;
            // Otherwise the replay gave it another block than the recorded allocator.
            const bool same = allocator.PlaceOf(handle).bytes == bytes;
            if (same && trace.blocks[block].whole)
              asked[block].least = allocator.LeastRequest(handle);
          }});
  return asked;
}

}  // namespace memprof::analysis::allocators
