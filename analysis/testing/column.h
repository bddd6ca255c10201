// One field of all events, for tests that compare or walk through it.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/store/event_table.h"

namespace memprof::analysis::testing {

template <typename T>
std::vector<T> Column(const EventTable& events, T (EventTable::*field)(std::size_t) const) {
  std::vector<T> column;
  column.reserve(events.size());
  for (std::size_t i = 0; i < events.size(); ++i) column.push_back((events.*field)(i));
  return column;
}

inline std::vector<TimeNs> Times(const EventTable& events) {
  return Column(events, &EventTable::time);
}

}  // namespace memprof::analysis::testing
