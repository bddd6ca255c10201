// Searches for low arrangements: first by several orders, then by local search.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "analysis/placement/internal/problem.h"

namespace memprof::analysis {

// The best arrangement so far, of all threads.
class BestArrangement {
 public:
  explicit BestArrangement(std::size_t buffers) : addresses_(buffers) {}

  // Keeps the arrangement if it is lower than the best so far; returns whether it is.
  bool Offer(const PlacementSpace& space, std::uint64_t height, const std::string& found_by) {
    const std::lock_guard lock(mutex_);
    ++arrangements_;
    if (height >= height_) return false;
    height_ = height;
    found_by_ = found_by;
    for (std::uint32_t i = 0; i < addresses_.size(); ++i) addresses_[i] = space.address(i);
    return true;
  }
  void CountMore(std::uint64_t arrangements) {
    const std::lock_guard lock(mutex_);
    arrangements_ += arrangements;
  }
  std::uint64_t Take(std::vector<std::uint64_t>* addresses) {
    const std::lock_guard lock(mutex_);
    *addresses = addresses_;
    return height_;
  }
  bool found() const { return height_ != kNotFound; }
  std::uint64_t height() const { return height_; }
  const std::string& found_by() const { return found_by_; }
  std::uint64_t arrangements() const { return arrangements_; }
  const std::vector<std::uint64_t>& addresses() const { return addresses_; }

 private:
  static constexpr std::uint64_t kNotFound = std::numeric_limits<std::uint64_t>::max();

  std::mutex mutex_;
  std::atomic<std::uint64_t> height_{kNotFound};
  std::string found_by_;
  std::uint64_t arrangements_ = 0;
  std::vector<std::uint64_t> addresses_;
};

struct SearchLimits {
  std::chrono::steady_clock::time_point deadline;
  int threads = 1;
  std::uint64_t seed = 1;
};

// Until the deadline, or until the bound is reached. If there is no arrangement yet, one order is
// completed, whatever the time.
void SearchArrangements(const PlacementProblem& problem, const SearchLimits& limits,
                        BestArrangement* best);

}  // namespace memprof::analysis
