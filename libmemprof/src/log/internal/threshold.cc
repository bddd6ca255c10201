// Bins of sizes, and weights in fixed point.
#include "libmemprof/src/log/internal/threshold.h"

#include <algorithm>
#include <bit>

namespace memprof::recorder {
namespace {

std::uint64_t AtLeastOne(std::uint64_t size) { return size == 0 ? 1 : size; }

}  // namespace

std::size_t ThresholdFinder::BinOf(std::uint64_t size) {
  const int power = std::bit_width(size) - 1;
  const std::uint64_t quarter = power < 2 ? (size << (2 - power)) & 3 : (size >> (power - 2)) & 3;
  return static_cast<std::size_t>(power) * 4 + quarter;
}

void ThresholdFinder::Add(std::uint64_t size) {
  size = AtLeastOne(size);
  Bin& bin = bins_[BinOf(size)];
  if (bin.count == 0 || size < bin.least) bin.least = size;
  ++bin.count;
  bin.bytes += static_cast<double>(size);
  ++count_;
}

// With T at the least size of a bin, all from that bin on are drawn, and of the smaller ones
// (their bytes) / T. A smaller T draws more, so the search goes downwards while it fits; between
// two bins T is what makes it fit.
double ThresholdFinder::For(double most) const {
  if (static_cast<double>(count_) <= most) return 0;
  double sure = 0, smaller = 0;
  for (const Bin& bin : bins_) smaller += bin.bytes;
  double best = smaller / std::max(most, 1e-9);  // nothing is sure
  for (std::size_t i = kBins; i-- > 0;) {
    const Bin& bin = bins_[i];
    if (bin.count == 0) continue;
    sure += static_cast<double>(bin.count);
    smaller -= bin.bytes;
    if (sure >= most) break;
    // All of this bin are sure where T is at most its least size.
    const double threshold = smaller / (most - sure);
    if (threshold > static_cast<double>(bin.least)) break;
    best = threshold;
  }
  return best;
}

std::uint32_t WeightAt(double threshold, std::uint64_t size) {
  constexpr double kMost = 4294967295.0;
  const double weight = threshold * 256 / static_cast<double>(AtLeastOne(size));
  if (weight <= 256) return 0;
  return weight >= kMost ? static_cast<std::uint32_t>(kMost)
                         : static_cast<std::uint32_t>(weight) + 1;
}

}  // namespace memprof::recorder
