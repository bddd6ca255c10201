// The min/max pyramid of one series.
#include <algorithm>

#include "analysis/timeline/timeline.h"

namespace memprof::analysis {

Series::Series() {
  static const auto* const kNothing = new std::shared_ptr<const Data>(std::make_shared<Data>());
  data_ = *kNothing;
}

Series::Series(std::vector<TimeNs> time, std::vector<std::uint64_t> value) {
  auto data = std::make_shared<Data>();
  data->time = std::move(time);
  data->value = std::move(value);
  data->pyramid = MinMaxPyramid(data->value, data->value);
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
  const std::size_t first =
      std::lower_bound(data_->time.begin(), data_->time.end(), begin) - data_->time.begin();
  const std::size_t last =
      std::lower_bound(data_->time.begin(), data_->time.end(), end) - data_->time.begin();
  Sample sample{~std::uint64_t{0}, 0, last == 0 ? 0 : data_->value[last - 1]};
  if (first == data_->time.size() ||
      data_->time[first] > begin) {  // what held before still holds at `begin`
    const std::uint64_t value = first == 0 ? 0 : data_->value[first - 1];
    sample.min = sample.max = value;
  }
  data_->pyramid.Join(data_->value, data_->value, first, last, sample.min, sample.max);
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

std::uint64_t Series::max() const { return data_->pyramid.Max(data_->value); }

TimeNs Series::time_of_max() const {
  return data_->value.empty() ? 0 : data_->time[data_->pyramid.FirstOfMax(data_->value)];
}

}  // namespace memprof::analysis
