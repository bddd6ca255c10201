// Bytes over time, by layer, with min/max pyramids: drawing any window costs O(pixels), and every
// peak stays visible, however far one zooms out.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/timeline/pyramid.h"

namespace memprof::analysis {

// A step function of time with a pyramid of minima and maxima. Immutable, hence thread-safe; copies
// share their data, 17 bytes a sample.
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
  // Whether the two are copies of each other, hence equal.
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

// All curves of one device.
struct DeviceTimeline {
  int device = 0;                         // kNoDevice: pinned and registered host memory
  std::array<Series, kLayerCount> layer;  // live bytes by layer; empty where never used
  Series total;                           // sum of layers that occupy the device
  Series reserved;                        // driver bytes incl. what pools hold beyond `total`
  Series framework_allocated;             // sum of live blocks
  Series framework_reserved;              // sum of live segments
  Series tensors;                         // sum of live tensors
};

// One entry for each device of the log, then one for the host if pinned memory was used.
std::vector<DeviceTimeline> BuildTimelines(const Session& session);

using DeviceTimelines = std::vector<DeviceTimeline>;
// Computed once a session. Large: code that keeps the session, and has all its results, may call
// session.facts().Forget<DeviceTimelines>().
std::shared_ptr<const DeviceTimelines> TimelinesOf(const Session& session);

}  // namespace memprof::analysis
