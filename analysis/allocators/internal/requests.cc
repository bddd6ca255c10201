#include "analysis/allocators/internal/requests.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/allocators/asked.h"
#include "analysis/base/sizes.h"

namespace memprof::analysis::allocators {
namespace {

constexpr std::uint64_t kGrain = 512;  // PyTorch's allocator rounds up to it

// Sizes that are known, by stack.
using KnownSizes = std::vector<std::pair<StackId, std::uint64_t>>;

// The known size of the same stack, within the range and nearest to its middle; else the middle.
// `known` is sorted.
std::uint64_t Estimate(StackId stack, const AskedBytes& asked, const KnownSizes& known) {
  const std::uint64_t above = asked.least - 1;
  const std::uint64_t middle =
      std::min(asked.most, RoundUp(above + (asked.most - above + 1) / 2, kGrain));
  std::optional<std::uint64_t> best;
  const auto distance = [middle](std::uint64_t size) {
    return size > middle ? size - middle : middle - size;
  };
  const auto at = std::lower_bound(known.begin(), known.end(), std::pair(stack, middle));
  if (at != known.end() && at->first == stack && at->second <= asked.most) best = at->second;
  if (at != known.begin()) {
    const auto& [other, size] = *std::prev(at);
    if (other == stack && size > above && (!best || distance(size) < distance(*best))) best = size;
  }
  return best.value_or(middle);
}

}  // namespace

std::uint64_t EstimateRequests(const Session& session, const AllocatorSpec& spec,
                               RecordedRun* run) {
  std::vector<TraceBlock>& blocks = run->trace.blocks;
  if (run->source != RequestSource::kBlocks || run->odd_sizes > 0 ||
      std::none_of(blocks.begin(), blocks.end(), [](const TraceBlock& b) { return b.whole; }))
    return 0;
  const std::vector<AskedBytes> asked = RequestedBytes(*run, spec);
  const auto stack_of = [&](std::size_t block) {
    const AllocationId id = session.events().allocation(run->requests[block].value);
    return id.valid() ? session.record(id).stack : StackId();
  };
  const auto is_known = [&](std::size_t i) { return asked[i].most - asked[i].least < kGrain; };
  KnownSizes known;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (is_known(i)) known.emplace_back(stack_of(i), blocks[i].bytes);
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  std::uint64_t estimates = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (is_known(i)) continue;
    blocks[i].bytes = Estimate(stack_of(i), asked[i], known);
    ++estimates;
  }
  return estimates;
}

}  // namespace memprof::analysis::allocators
