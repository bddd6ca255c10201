// What a log that is always on (log.Header.always_on) left out, and what stands for it.
//
// Its stretches are thinned: of the blocks that lived shortly there, each is in the log only if it
// was drawn, by a chance of its own, with the number of those for which it stands. A drawn block is
// one event of Op::kSampled and no allocation: levels, survivors and peaks count what the log has
// exactly, and sums over allocations add the estimate of the drawn ones. Counted levels
// (Op::kLevel) are exact for everything.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

// Weights are stored as multiples of this part.
inline constexpr std::uint32_t kWeightOfOne = 256;

// A sum over all allocations of which some were drawn (Horvitz and Thompson's).
struct SampledSum {
  double value = 0, variance = 0;

  void AddExact(double x) { value += x; }
  void AddDrawn(double weight, double x) {
    value += weight * x;
    variance += weight * (weight - 1) * x * x;
  }
  double plus_minus() const;  // two standard deviations
  SampledSum& operator+=(const SampledSum& other) {
    value += other.value;
    variance += other.variance;
    return *this;
  }
};

// An event of Op::kSampled. It has also a stack, a stream and an address.
struct DrawnBlock {
  EventId event;
  int device = kNoDevice;
  Layer layer = Layer::kUnspecified;
  std::uint64_t bytes = 0, requested = 0;
  StackId stack;
  TimeNs begin = 0, end = 0;
  double weight = 1;  // the number of blocks for which it stands
};

struct CountedLevel {
  int device = kNoDevice;
  Layer layer = Layer::kUnspecified;  // kUnspecified: all that the driver allocated
  std::uint64_t highest = 0, at_end = 0, allocations = 0, bytes = 0;
};

struct Stretch {
  TimeNs begin = 0, end = 0;  // both are within
  std::uint32_t process = 0;
  std::uint64_t events_left_out = 0, allocations_left_out = 0;
  std::vector<CountedLevel> levels;
};

struct Sampling {
  AlwaysOn recording;  // of the first log that has it
  bool always_on = false;
  std::vector<Stretch> stretches;  // by process, then in order of time; those of one do not overlap
  std::vector<EventId> drawn;      // in order of time
  std::vector<CountedLevel> highest;  // of all stretches, the sums of the other fields
  std::uint64_t events_left_out = 0, allocations_left_out = 0;
  // Steps are told by their marks; the numbers of steps without a mark count among all.
  std::uint64_t whole_steps = 0, all_steps = 0;

  // Whether nothing was left out from `begin` until before `end`.
  bool IsWhole(TimeNs begin, TimeNs end, std::uint32_t process = 0) const;
  // The same, of all processes.
  bool IsWhole(const StepInfo& step) const;
  TimeNs thinned_time() const;  // of all processes
  const CountedLevel* Highest(int device, Layer layer) const;
};

// Computed once a session. Cheap where every event was kept.
std::shared_ptr<const Sampling> SamplingOf(const Session& session);

DrawnBlock DrawnAt(const Session& session, EventId event);

// The most on a device, given the most that the log has exactly: more may have been counted.
std::uint64_t HighestKnown(const Session& session, int device, Layer layer, std::uint64_t found);

// Of the blocks that were drawn and left out together: their number, and their bytes.
struct Traffic {
  SampledSum count, bytes;
};
Traffic SampledTraffic(const Session& session);

}  // namespace memprof::analysis
