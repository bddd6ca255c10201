// Ranges of requests, from a replay and from steps that are alike.
#include "analysis/footprint/internal/asked.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "analysis/allocators/caching.h"

namespace memprof::analysis {

std::vector<AskedBytes> RequestedBytes(const allocators::Trace& trace,
                                       const allocators::AllocatorSpec& spec) {
  std::vector<AskedBytes> asked;
  for (const allocators::TraceBlock& block : trace.blocks)
    asked.push_back({block.bytes, block.bytes});
  if (spec.kind != allocators::AllocatorKind::kCaching) return asked;
  allocators::Device device;
  allocators::CachingAllocator allocator(spec.caching, &device);
  allocators::Replay(
      trace, &allocator, &device,
      {.as_recorded = true, .served = [&](std::uint32_t block, allocators::Handle handle) {
         const std::uint64_t bytes = trace.blocks[block].bytes;
         // Otherwise the replay gave it another block than the recorded allocator.
         const bool same = allocator.PlaceOf(handle).bytes == bytes;
         if (same && trace.blocks[block].whole) asked[block].least = allocator.LeastRequest(handle);
       }});
  return asked;
}

std::vector<AskedBytes> NarrowBySteps(std::vector<AskedBytes> asked, const RequestKeys& keys) {
  absl::flat_hash_map<std::pair<std::uint64_t, std::uint32_t>, AskedBytes> common;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (keys[i].step < 0) continue;
    AskedBytes& all =
        common.try_emplace({keys[i].site, keys[i].occurrence}, asked[i]).first->second;
    all.least = std::max(all.least, asked[i].least);
    all.most = std::min(all.most, asked[i].most);
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (keys[i].step < 0) continue;
    const AskedBytes& all = common.find({keys[i].site, keys[i].occurrence})->second;
    if (all.least <= all.most) asked[i] = all;
  }
  return asked;
}

}  // namespace memprof::analysis
