// The memory of each process over time.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "analysis/report/process_figures.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

// A running sum and the instants at which it changed.
struct Sum {
  std::uint64_t now = 0;
  std::vector<TimeNs> times;
  std::vector<std::uint64_t> values;

  void Sample(TimeNs time) {
    if (now == (values.empty() ? 0 : values.back())) return;
    times.push_back(time);
    values.push_back(now);
  }
};

struct CourseVisitor {
  const Session& session;
  const AllocationSet* passing;
  std::vector<std::array<Sum, 2>> sums;  // by process: driver, in use
  std::vector<Sum*> changed;

  void Change(AllocationId id, bool birth) {
    if (passing != nullptr && !passing->Has(id)) return;
    const AllocationRecord& record = session.record(id);
    const bool block = record.layer == Layer::kBlock;
    if (!block && !OccupiesDevice(record.layer)) return;
    Sum& sum = sums[session.ProcessOf(record.birth)][block ? 1 : 0];
    sum.now = birth ? sum.now + record.bytes : sum.now - record.bytes;
    changed.push_back(&sum);
  }
  void Birth(EventId, AllocationId id) { Change(id, true); }
  void Death(EventId, AllocationId id) { Change(id, false); }
  void After(EventId event) {
    for (Sum* sum : changed) sum->Sample(session.events().time(event.value));
    changed.clear();
  }
};

}  // namespace

ProcessCourses::ProcessCourses(const Session& session, const AllocationSet* passing,
                               const std::stop_token& stop) {
  constexpr std::uint32_t kStride = 1 << 18;
  CourseVisitor visitor{session, passing, {}, {}};
  visitor.sums.resize(session.processes().size());
  const auto events = static_cast<std::uint32_t>(session.events().size());
  for (std::uint32_t begin = 0; begin < events && !stop.stop_requested();) {
    const std::uint32_t end = begin + std::min(kStride, events - begin);
    WalkLifetimes(session, EventId(begin), EventId(end), visitor);
    begin = end;
  }
  for (auto& [driver, in_use] : visitor.sums)
    courses_.push_back({Series(std::move(driver.times), std::move(driver.values)),
                        Series(std::move(in_use.times), std::move(in_use.values))});
}

std::vector<std::vector<ProcessColumn>> ProcessCourses::Columns(TimeWindow window,
                                                                int columns) const {
  std::vector<std::vector<ProcessColumn>> all(courses_.size());
  const auto n = static_cast<std::uint64_t>(std::max(columns, 0));
  const TimeNs length = window.end > window.begin ? window.end - window.begin : 1;
  // The first instant of a part: where time · n / length reaches its number.
  const auto edge = [&](std::uint64_t i) {
    return window.begin + absl::Uint128Low64((absl::uint128(length) * i + (n - 1)) /
                                             std::max<std::uint64_t>(n, 1));
  };
  for (std::size_t process = 0; process < courses_.size(); ++process) {
    const Course& course = courses_[process];
    std::uint64_t held_driver = 0, held_in_use = 0;  // when the part begins
    if (window.begin > 0) {
      held_driver = course.driver.At(window.begin - 1);
      held_in_use = course.in_use.At(window.begin - 1);
    }
    for (std::uint64_t i = 0; i < n; ++i) {
      const TimeNs begin = edge(i), end = edge(i + 1);
      ProcessColumn column{held_driver, held_driver, held_in_use, held_in_use};
      if (begin < end) {
        const Series::Sample driver = course.driver.Between(begin, end);
        const Series::Sample in_use = course.in_use.Between(begin, end);
        column = {std::min(held_driver, driver.min), std::max(held_driver, driver.max),
                  std::min(held_in_use, in_use.min), std::max(held_in_use, in_use.max)};
        held_driver = driver.last;
        held_in_use = in_use.last;
      }
      all[process].push_back(column);
    }
  }
  return all;
}

}  // namespace memprof::analysis
