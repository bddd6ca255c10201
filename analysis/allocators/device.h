// The device below a simulated allocator: returns ranges of addresses and counts the memory taken.
//
// Nothing is stored at the addresses. A range is returned only once, unless a log has the driver's
// addresses of segments (RecordedAddresses): then simulated segments get the recorded addresses, so
// that choices which depend on addresses are those of the recording. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <unordered_map>
#include <utility>

#include "analysis/base/types.h"

namespace memprof::analysis::allocators {

inline constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
// Larger requests are refused: no device is that large, and sums stay within 64 bits.
inline constexpr std::uint64_t kMaxRequest = std::uint64_t{1} << 46;

constexpr std::uint64_t RoundUp(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

class Device {
 public:
  explicit Device(std::uint64_t capacity_bytes = kUnlimited) : capacity_(capacity_bytes) {}

  // Physical memory with addresses, as cudaMalloc; 0 if there is not enough.
  std::uint64_t Take(std::uint64_t bytes) {
    if (!Commit(bytes)) return 0;
    const std::uint64_t address = AddressFor(bytes);
    return address;
  }
  void Give(std::uint64_t bytes) { Uncommit(bytes); }

  // Physical memory only, as cuMemCreate; `calls` calls of the driver.
  bool Commit(std::uint64_t bytes, std::uint64_t calls = 1) {
    if (bytes > capacity_ || used_ > capacity_ - bytes) return false;
    used_ += bytes;
    peak_used_ = std::max(peak_used_, used_);
    calls_ += calls;
    return true;
  }
  void Uncommit(std::uint64_t bytes, std::uint64_t calls = 1) {
    used_ -= bytes;
    calls_ += calls;
  }
  struct Range {
    std::uint64_t address = 0, bytes = 0;
  };
  // Addresses only, as cuMemAddressReserve: the next range that was announced if it has at least
  // `least` bytes, else a new one of `bytes`.
  Range ReserveRange(std::uint64_t bytes, std::uint64_t least) {
    if (ranges_.empty() || ranges_.front().bytes < least) return {ReserveAddresses(bytes), bytes};
    const Range range = ranges_.front();
    ranges_.pop_front();
    return range;
  }
  std::uint64_t ReserveAddresses(std::uint64_t bytes) {
    const std::uint64_t address = next_;
    next_ += RoundUp(bytes, kPage);
    return address;
  }
  // Sets the bytes of the program's other memory on this device. They count even if they exceed the
  // capacity.
  void SetOutside(std::uint64_t bytes) {
    used_ += bytes - outside_;
    outside_ = bytes;
    peak_used_ = std::max(peak_used_, used_);
  }

  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t used() const { return used_; }  // bytes, including those outside
  std::uint64_t peak_used() const { return peak_used_; }
  std::uint64_t calls() const { return calls_; }  // calls that take, map or release memory

  // The next range of `bytes` bytes shall lie at `address`, after those announced before.
  void ExpectAddress(std::uint64_t bytes, std::uint64_t address) {
    expected_[bytes].push_back(address);
  }

  // The same for reserved addresses.
  void ExpectRange(const Range& range) { ranges_.push_back(range); }

 private:
  std::uint64_t AddressFor(std::uint64_t bytes) {
    if (const auto found = expected_.find(bytes); found != expected_.end()) {
      if (!found->second.empty()) {
        const std::uint64_t address = found->second.front();
        found->second.pop_front();
        return address;
      }
    }
    return ReserveAddresses(bytes);
  }

  const std::uint64_t capacity_;
  std::uint64_t used_ = 0, peak_used_ = 0, outside_ = 0, calls_ = 0;
  std::uint64_t next_ = std::uint64_t{1} << 52;  // above all addresses of real devices
  std::unordered_map<std::uint64_t, std::deque<std::uint64_t>> expected_;
  std::deque<Range> ranges_;
};

}  // namespace memprof::analysis::allocators
