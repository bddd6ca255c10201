// The events of a trace and their rows in the log, in little memory: there are as many as events in
// the log.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace memprof::analysis::allocators {

enum class TraceOp : std::uint8_t {
  kAllocate,        // number: of blocks
  kFree,            // number: of blocks; one that is live
  kEmptyCache,      // number: 0, or 1 + the stream of a private pool whose owner has gone
  kSynchronize,     // number: none
  kReleaseSegment,  // number: of releases
  kOutside,         // number: of outside
  kTry,             // number: of blocks; the recorded allocator had too little memory for it, and
                    // the program did not get it
  kSample,          // number: none; the reserved bytes are sampled
  kHeld,            // number: of held; before the requests of its blocks
};

struct TraceEvent {
  TraceOp op = TraceOp::kAllocate;
  std::uint32_t number = 0;  // row of the table that belongs to the op

  bool operator==(const TraceEvent&) const = default;
};

// A list of events of 4 bytes each; numbers from 2^28 on take 20.
class TraceEvents {
 public:
  class Iterator {
   public:
    Iterator(const TraceEvents* events, std::size_t at) : events_(events), at_(at) {}
    TraceEvent operator*() const { return (*events_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const TraceEvents* events_;
    std::size_t at_;
  };

  std::size_t size() const { return words_.size(); }
  bool empty() const { return words_.empty(); }
  void reserve(std::size_t count) { words_.reserve(count); }
  void push_back(TraceEvent event) {
    const bool fits = event.number < kFar;
    if (!fits) far_.emplace_back(words_.size(), event.number);
    words_.push_back(static_cast<std::uint32_t>(event.op) << kNumberBits |
                     (fits ? event.number : kFar));
  }
  TraceEvent operator[](std::size_t i) const {
    const auto op = static_cast<TraceOp>(words_[i] >> kNumberBits);
    const std::uint32_t number = words_[i] & kFar;
    return {op, number == kFar ? Far(i) : number};
  }
  TraceEvent back() const { return (*this)[size() - 1]; }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

 private:
  static constexpr int kNumberBits = 28;
  static constexpr std::uint32_t kFar = (std::uint32_t{1} << kNumberBits) - 1;

  std::uint32_t Far(std::size_t i) const {
    return std::lower_bound(far_.begin(), far_.end(), std::pair(i, std::uint32_t{0}))->second;
  }

  std::vector<std::uint32_t> words_;
  std::vector<std::pair<std::size_t, std::uint32_t>> far_;  // numbers that do not fit, by event
};

// The log's row for each event of a trace, in ascending order. 1 byte each if the rows are close.
class TraceRows {
 public:
  bool empty() const { return deltas_.empty(); }
  std::size_t size() const { return deltas_.size(); }
  void reserve(std::size_t count) { deltas_.reserve(count); }
  // Sets the row of all events before `count` that have none yet.
  void FillUpTo(std::size_t count, std::uint32_t row) {
    while (deltas_.size() < count) {
      const bool near = !deltas_.empty() && row - last_ < kFar;
      if (!near) far_.push_back(row);
      deltas_.push_back(static_cast<std::uint8_t>(near ? row - last_ : kFar));
      last_ = row;
    }
  }

  // Reads the rows in order.
  class Cursor {
   public:
    explicit Cursor(const TraceRows& rows) : rows_(rows) {}
    // `event` must not decrease.
    std::uint32_t At(std::size_t event) {
      for (; next_ <= event; ++next_) {
        const std::uint8_t delta = rows_.deltas_[next_];
        row_ = delta == kFar ? rows_.far_[far_++] : row_ + delta;
      }
      return row_;
    }

   private:
    const TraceRows& rows_;
    std::size_t next_ = 0, far_ = 0;
    std::uint32_t row_ = 0;
  };

 private:
  static constexpr std::uint32_t kFar = 255;

  std::vector<std::uint8_t> deltas_;
  std::vector<std::uint32_t> far_;
  std::uint32_t last_ = 0;
};

}  // namespace memprof::analysis::allocators
