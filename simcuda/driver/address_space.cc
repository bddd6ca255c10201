// Holes first, then new ranges from the top.
#include "simcuda/driver/address_space.h"

#include <algorithm>
#include <iterator>

namespace memprof::simcuda {

bool AddressSpace::Take(uint64_t bytes, uint64_t* address) {
  if (holes_.largest() < bytes) {
    const uint64_t whole = (bytes + kRangeBytes - 1) / kRangeBytes * kRangeBytes;
    uint64_t range = 0;
    if (!TakeRange(whole, &range) && !TakeRange(bytes, &range)) return false;
  }
  const auto& holes = holes_.ranges();
  const auto hole = std::find_if(holes.begin(), holes.end(),
                                 [&](const auto& one) { return one.second >= bytes; });
  *address = hole->first;
  return holes_.TakeAt(hole->first, bytes);
}

bool AddressSpace::TakeRange(uint64_t bytes, uint64_t* address) {
  const auto& gaps = gaps_.ranges();
  for (auto gap = gaps.rbegin(); gap != gaps.rend(); ++gap) {
    if (gap->second < bytes) continue;
    const uint64_t top = gap->first + gap->second - bytes;
    const uint64_t aligned = top / kRangeBytes * kRangeBytes;
    *address = bytes % kRangeBytes == 0 && aligned >= gap->first ? aligned : top;
    if (!gaps_.TakeAt(*address, bytes)) return false;
    used_.emplace(*address, bytes);
    holes_.SetBarrier(*address);
    holes_.Add(*address, bytes);
    return true;
  }
  return false;
}

void AddressSpace::Free(uint64_t address, uint64_t bytes) {
  const auto [start, free] = holes_.Add(address, bytes);
  const auto range = used_.find(start);
  if (range == used_.end() || range->second != free) return;
  holes_.TakeAt(start, free);
  holes_.ClearBarrier(start);
  used_.erase(range);
  gaps_.Add(start, free);
}

}  // namespace memprof::simcuda
