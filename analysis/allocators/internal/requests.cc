#include "analysis/allocators/internal/requests.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "analysis/base/sizes.h"
#include "analysis/store/lifetime_walk.h"
#include "analysis/store/private_pools.h"

namespace memprof::analysis::allocators {
namespace {

constexpr std::uint64_t kKeptWhole = kMiB, kGrain = 512;

// A block that was used whole: its request is in (above, bytes].
struct Whole {
  std::uint32_t number = 0;  // row of the trace's blocks
  StackId stack;
  std::uint64_t above = 0, bytes = 0;
};

// Follows the free memory of the large pools of one device of one process.
class FreeMemory {
 public:
  FreeMemory(const Session& session, const CachingOptions& options, const RecordedRun& run)
      : session_(session),
        options_(options),
        run_(run),
        number_(session.records().size(), kNoNumber) {
    for (std::size_t i = 0; i < run.requests.size(); ++i) {
      const AllocationId id = session.events().allocation(run.requests[i].value);
      if (id.valid()) number_[id.value] = static_cast<std::uint32_t>(i);
    }
  }

  void Birth(EventId, AllocationId id) {
    const AllocationRecord& a = session_.record(id);
    if (number_[id.value] == kNoNumber || !a.parent.valid()) return;
    const AllocationRecord& segment = session_.record(a.parent);
    if (segment.layer != Layer::kSegment || segment.bytes <= kSmallSegmentBytes) return;
    const auto [begin, end] = GapAround(a, segment);
    live_[a.address] = a.bytes;
    ++blocks_;
    if (begin != a.address || end - begin < a.bytes) {
      ++misplaced_;
      return;
    }
    const auto [pool, fresh] = pools_.try_emplace(a.parent.value, PoolOf(id));
    Sizes& free = free_[pool->second];
    if (!fresh) Take(free, end - begin);
    if (end - begin > a.bytes) {
      free.insert(end - begin - a.bytes);
      cut_.emplace_back(a.stack, a.bytes);
    } else if (!a.has_requested()) {
      whole_.push_back({number_[id.value], a.stack, LowerBound(free, a.bytes), a.bytes});
    }
  }

  void Death(EventId, AllocationId id) {
    const AllocationRecord& a = session_.record(id);
    if (a.layer == Layer::kSegment) {
      if (const auto pool = pools_.find(id.value); pool != pools_.end()) {
        Take(free_[pool->second], a.bytes);
        pools_.erase(pool);
      }
      return;
    }
    const auto at = number_[id.value] == kNoNumber ? live_.end() : live_.find(a.address);
    if (at == live_.end()) return;
    live_.erase(at);
    const auto pool = pools_.find(a.parent.value);
    if (pool == pools_.end()) return;
    const auto [begin, end] = GapAround(a, session_.record(a.parent));
    if (begin > a.address || end < a.address + a.bytes) return;
    Sizes& free = free_[pool->second];
    if (a.address > begin) Take(free, a.address - begin);
    if (end > a.address + a.bytes) Take(free, end - a.address - a.bytes);
    free.insert(end - begin);
  }

  void After(EventId) {}

  // Blocks lie at the begin of free memory and within their segments: expandable segments and other
  // allocators show by this.
  bool AsExpected() const { return misplaced_ <= blocks_ / 100; }
  std::vector<Whole>& whole() { return whole_; }
  std::vector<std::pair<StackId, std::uint64_t>>& cut() { return cut_; }

 private:
  static constexpr std::uint32_t kNoNumber = ~std::uint32_t{0};
  using Sizes = absl::btree_multiset<std::uint64_t>;
  using PoolKey = std::pair<std::uint64_t, std::uint64_t>;  // private pool and stream

  PoolKey PoolOf(AllocationId id) const {
    return {PrivatePoolOf(session_, id), session_.events().stream(session_.record(id).birth.value)};
  }
  static void Take(Sizes& sizes, std::uint64_t bytes) {
    if (const auto at = sizes.find(bytes); at != sizes.end()) sizes.erase(at);
  }

  // The free range in the segment around a block that is not (or no longer) live.
  std::pair<std::uint64_t, std::uint64_t> GapAround(const AllocationRecord& a,
                                                    const AllocationRecord& segment) const {
    std::uint64_t begin = segment.address, end = EndAddress(segment.address, segment.bytes);
    const auto next = live_.lower_bound(a.address);
    if (next != live_.end()) end = std::min(end, next->first);
    if (next != live_.begin()) {
      const auto before = std::prev(next);
      begin = std::max(begin, EndAddress(before->first, before->second));
    }
    return {begin, std::max(begin, end)};
  }

  std::uint64_t LowerBound(const Sizes& free, std::uint64_t bytes) const {
    const std::uint64_t slack =
        bytes >= options_.max_split ? options_.max_non_split_rounding : kKeptWhole + 1;
    const std::uint64_t least = bytes > slack ? bytes - slack : 0;
    const auto at = free.lower_bound(bytes);
    return at == free.begin() ? std::max(least, kMiB) : std::max({least, kMiB, *std::prev(at)});
  }

  const Session& session_;
  const CachingOptions& options_;
  const RecordedRun& run_;
  std::vector<std::uint32_t> number_;                   // rows of the trace's blocks, by allocation
  absl::btree_map<std::uint64_t, std::uint64_t> live_;  // blocks: bytes by address
  absl::flat_hash_map<std::uint32_t, PoolKey> pools_;   // of segments that held a block
  absl::btree_map<PoolKey, Sizes> free_;                // sizes of free blocks
  std::vector<Whole> whole_;
  std::vector<std::pair<StackId, std::uint64_t>> cut_;  // sizes that are known, by stack
  std::uint64_t blocks_ = 0, misplaced_ = 0;
};

// The size of a split block of the same stack, within the bounds and nearest to their middle; else
// the middle. `cut` is sorted.
std::uint64_t Estimate(const Whole& whole,
                       const std::vector<std::pair<StackId, std::uint64_t>>& cut) {
  const std::uint64_t above = std::min(whole.above, whole.bytes - 1);
  const std::uint64_t middle =
      std::min(whole.bytes, RoundUp(above + (whole.bytes - above + 1) / 2, kGrain));
  std::optional<std::uint64_t> best;
  const auto distance = [middle](std::uint64_t size) {
    return size > middle ? size - middle : middle - size;
  };
  const auto at = std::lower_bound(cut.begin(), cut.end(), std::pair(whole.stack, middle));
  if (at != cut.end() && at->first == whole.stack && at->second <= whole.bytes) best = at->second;
  if (at != cut.begin()) {
    const auto& [stack, size] = *std::prev(at);
    if (stack == whole.stack && size > above && (!best || distance(size) < distance(*best)))
      best = size;
  }
  return best.value_or(middle);
}

}  // namespace

std::uint64_t EstimateRequests(const Session& session, const CachingOptions& options,
                               RecordedRun* run) {
  if (run->source != RequestSource::kBlocks || options.expandable || run->odd_sizes > 0) return 0;
  FreeMemory memory(session, options, *run);
  WalkLifetimes(session, memory);
  if (!memory.AsExpected()) return 0;
  auto& cut = memory.cut();
  std::sort(cut.begin(), cut.end());
  cut.erase(std::unique(cut.begin(), cut.end()), cut.end());
  for (const Whole& whole : memory.whole()) {
    run->trace.blocks[whole.number].bytes = Estimate(whole, cut);
  }
  return memory.whole().size();
}

}  // namespace memprof::analysis::allocators
