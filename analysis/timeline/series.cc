// The min/max pyramid of one series.
#include <algorithm>

#include "analysis/timeline/timeline.h"

namespace memprof::analysis {
namespace {

constexpr std::size_t kFanOut = 16;

// Joins [begin, end) of raw values into `sample`.
void Join(std::span<const std::uint64_t> min, std::span<const std::uint64_t> max, std::size_t begin,
          std::size_t end, Series::Sample& sample) {
  for (std::size_t i = begin; i < end; ++i) {
    sample.min = std::min(sample.min, min[i]);
    sample.max = std::max(sample.max, max[i]);
  }
}

}  // namespace

Series::Series() {
  static const auto* const kNothing = new std::shared_ptr<const Data>(std::make_shared<Data>());
  data_ = *kNothing;
}

Series::Series(std::vector<TimeNs> time, std::vector<std::uint64_t> value) {
  auto data = std::make_shared<Data>();
  data->time = std::move(time);
  data->value = std::move(value);
  std::span<const std::uint64_t> min = data->value, max = data->value;
  while (min.size() > kFanOut) {
    Level level;
    for (std::size_t i = 0; i < min.size(); i += kFanOut) {
      const std::size_t end = std::min(i + kFanOut, min.size());
      level.min.push_back(*std::min_element(min.begin() + i, min.begin() + end));
      level.max.push_back(*std::max_element(max.begin() + i, max.begin() + end));
    }
    data->levels.push_back(std::move(level));
    min = data->levels.back().min;
    max = data->levels.back().max;
  }
  data_ = std::move(data);
}

std::uint64_t Series::At(TimeNs t) const {
  const std::vector<TimeNs>& time = data_->time;
  const auto after = std::upper_bound(time.begin(), time.end(), t);
  return after == time.begin() ? 0 : data_->value[after - time.begin() - 1];
}

Series::Sample Series::Between(TimeNs begin, TimeNs end) const {
  if (end <= begin) {
    const std::uint64_t value = At(begin);
    return {value, value, value};
  }
  std::size_t first =
      std::lower_bound(data_->time.begin(), data_->time.end(), begin) - data_->time.begin();
  std::size_t last =
      std::lower_bound(data_->time.begin(), data_->time.end(), end) - data_->time.begin();
  Sample sample{~std::uint64_t{0}, 0, last == 0 ? 0 : data_->value[last - 1]};
  if (first == data_->time.size() ||
      data_->time[first] > begin) {  // what held before still holds at `begin`
    const std::uint64_t value = first == 0 ? 0 : data_->value[first - 1];
    sample.min = sample.max = value;
  }
  // Up the pyramid while the range is wider than a node, taking the ragged ends on the way.
  std::span<const std::uint64_t> min = data_->value, max = data_->value;
  for (std::size_t level = 0; first < last; ++level) {
    const std::size_t inner_first = (first + kFanOut - 1) / kFanOut;
    const std::size_t inner_last = last / kFanOut;
    if (level == data_->levels.size() || inner_first >= inner_last) {
      Join(min, max, first, last, sample);
      break;
    }
    Join(min, max, first, inner_first * kFanOut, sample);
    Join(min, max, inner_last * kFanOut, last, sample);
    first = inner_first;
    last = inner_last;
    min = data_->levels[level].min;
    max = data_->levels[level].max;
  }
  return sample;
}

std::vector<Series::Sample> Series::Columns(TimeWindow window, int columns) const {
  std::vector<Sample> result;
  if (columns <= 0) return result;
  result.reserve(columns);
  if (window.end == kForever) {
    window.end =
        std::max(window.begin, data_->time.empty() ? window.begin : data_->time.back() + 1);
  }
  const std::uint64_t span = window.end > window.begin ? window.end - window.begin : 0;
  const std::uint64_t whole = span / columns, rest = span % columns;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(columns); ++i) {
    const TimeNs begin = window.begin + whole * i + rest * i / columns;
    const TimeNs end = window.begin + whole * (i + 1) + rest * (i + 1) / columns;
    result.push_back(Between(begin, end));
  }
  return result;
}

std::uint64_t Series::max() const {
  if (data_->value.empty()) return 0;
  const std::vector<std::uint64_t>& top =
      data_->levels.empty() ? data_->value : data_->levels.back().max;
  return *std::max_element(top.begin(), top.end());
}

TimeNs Series::time_of_max() const {
  if (data_->value.empty()) return 0;
  const std::uint64_t peak = max();
  std::size_t index = 0;
  for (std::size_t level = data_->levels.size();
       level-- > 0;) {  // down the pyramid, first child with it
    while (data_->levels[level].max[index] != peak) ++index;
    index *= kFanOut;
  }
  while (data_->value[index] != peak) ++index;
  return data_->time[index];
}

}  // namespace memprof::analysis
