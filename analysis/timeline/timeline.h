// Bytes over time, by layer, with min/max pyramids: a picture of any window costs O(pixels), and a
// peak is never hidden, however far out one zooms.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/timeline/pyramid.h"

namespace memprof::analysis {

// One step function of time with a pyramid of minima and maxima above it. Immutable,
// hence thread-safe; copies share what they hold, 17 bytes a sample.
class Series {
 public:
  struct Sample {
    std::uint64_t min = 0, max = 0, last = 0;
  };

  // `time` rises (weakly); value[i] holds from time[i] on; 0 before time[0].
  Series();
  Series(std::vector<TimeNs> time, std::vector<std::uint64_t> value);

  bool empty() const { return data_->time.empty(); }
  std::span<const TimeNs> times() const { return data_->time; }
  std::span<const std::uint64_t> values() const { return data_->value; }
  // Whether the two are copies of one: then they are equal.
  bool IsCopyOf(const Series& other) const { return data_ == other.data_; }
  std::uint64_t At(TimeNs t) const;  // O(log n)
  Sample Between(TimeNs begin, TimeNs end)
      const;  // over [begin, end), including the value that holds at begin; O(log n)
  std::vector<Sample> Columns(TimeWindow window, int columns) const;  // one per pixel column
  std::uint64_t max() const;
  TimeNs time_of_max() const;  // first time the maximum holds

 private:
  struct Data {
    std::vector<TimeNs> time;
    std::vector<std::uint64_t> value;
    MinMaxPyramid pyramid;
  };
  std::shared_ptr<const Data> data_;  // never null
};

// Everything of one device that is drawn over time.
struct DeviceTimeline {
  int device = 0;                         // kNoDevice: pinned and registered host memory
  std::array<Series, kLayerCount> layer;  // live bytes by layer; empty where never used
  Series total;                           // sum of layers that occupy the device
  Series reserved;                        // driver bytes incl. what pools hold beyond `total`
  Series framework_allocated;             // sum of live blocks
  Series framework_reserved;              // sum of live segments
  Series tensors;                         // sum of live tensors
};

// One entry for each device of the log, then one for the host where pinned memory was used.
std::vector<DeviceTimeline> BuildTimelines(const Session& session);

using DeviceTimelines = std::vector<DeviceTimeline>;
// The same, built once a session. Large: whoever is done with all questions about a session that he
// keeps may call session.facts().Drop<DeviceTimelines>().
std::shared_ptr<const DeviceTimelines> TimelinesOf(const Session& session);

}  // namespace memprof::analysis
