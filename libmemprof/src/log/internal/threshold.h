// Threshold sampling: of things with sizes, each is drawn by itself with the chance
// min(1, size / T), and stands for 1 / chance of them. Sums of sizes over any group are then
// estimated without bias, and with the least sum of variances for that number of draws (Duffield,
// Lund and Thorup, "Learn more, sample less", IEEE Transactions on Information Theory 51, 2005).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace memprof::recorder {

// Finds T for an expected number of draws.
class ThresholdFinder {
 public:
  void Add(std::uint64_t size);
  std::size_t count() const { return count_; }
  // 0 if all may be drawn. At most `most` are drawn on average, and not many fewer: within the
  // width of a bin, a quarter of a power of two.
  double For(double most) const;

 private:
  static constexpr std::size_t kBins = 64 * 4;
  static std::size_t BinOf(std::uint64_t size);
  struct Bin {
    std::uint64_t count = 0;
    double bytes = 0;
    std::uint64_t least = 0;
  };
  std::array<Bin, kBins> bins_{};
  std::size_t count_ = 0;
};

// log.Events.weight of a thing of `size` bytes at the threshold: 0 if it is drawn for sure.
std::uint32_t WeightAt(double threshold, std::uint64_t size);

// A stream of random numbers (xorshift64*, Vigna 2016): unlike rand(), the program's stays as it
// is.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed | 1) {}
  // True with the chance 256 / weight; always for 0.
  bool Draw(std::uint32_t weight) {
    if (weight <= 256) return true;
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    const std::uint64_t number = state_ * 0x2545f4914f6cdd1du >> 32;
    return number * weight < (std::uint64_t{256} << 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace memprof::recorder
