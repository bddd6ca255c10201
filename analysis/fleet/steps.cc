// What each step held.
#include <algorithm>

#include "analysis/fleet/internal/tables.h"
#include "analysis/store/sampling.h"
#include "analysis/timeline/timeline.h"

namespace memprof::analysis::fleet {
namespace {

StepRow RowOf(const DeviceTimeline& curves, bool framework, TimeNs begin, TimeNs end,
              bool completed) {
  StepRow row;
  row.device = curves.device;
  if (completed) row.duration = end - begin;
  row.peak = curves.total.Between(begin, end).max;
  if (!framework) return row;
  const Series::Sample allocated = curves.framework_allocated.Between(begin, end);
  const Series::Sample reserved = curves.framework_reserved.Between(begin, end);
  row.allocated_peak = allocated.max;
  row.reserved_peak = reserved.max;
  if (!completed) return row;
  row.allocated_end = allocated.last;
  row.reserved_end = reserved.last;
  return row;
}

// Where a log that is always on is thinned, the most that was counted.
void AddCounted(const Sampling& sampling, TimeNs begin, TimeNs end, StepRow* row) {
  auto at = std::ranges::lower_bound(sampling.stretches, begin, {}, &Stretch::end);  // of one log
  for (; at != sampling.stretches.end() && at->begin < end; ++at) {
    for (const CountedLevel& level : at->levels) {
      if (level.device != row->device) continue;
      if (level.layer == Layer::kUnspecified) row->peak = std::max(row->peak, level.highest);
      Known* const known = level.layer == Layer::kBlock     ? &row->allocated_peak
                           : level.layer == Layer::kSegment ? &row->reserved_peak
                                                            : nullptr;
      if (known != nullptr && *known) *known = std::max(**known, level.highest);
    }
  }
}

}  // namespace

TimeNs StartOf(const Session& session) {
  const TimeNs start = session.run().start_time;
  const EventTable& events = session.events();
  if (events.empty()) return start;
  return start == 0 ? events.first_time() : std::min(start, events.first_time());
}

std::vector<StepRow> StepsOf(const Source& source) {
  const EventTable& events = source.session.events();
  const std::int64_t completed = source.clock.completed();
  std::vector<StepRow> rows;
  if (!source.clock.judged_at().valid()) return rows;
  const TimeNs start = StartOf(source.session);
  const auto sampling = SamplingOf(source.session);
  for (const DeviceTimeline& curves : *TimelinesOf(source.session)) {
    for (const DeviceFigures& device : source.report.devices) {
      if (device.info.id != curves.device || !WasUsed(device)) continue;
      for (std::int64_t i = 0; i <= completed; ++i) {
        const TimeNs begin = events.time(source.clock.BeginOf(i).value);
        const TimeNs end =
            i < completed ? events.time(source.clock.BeginOf(i + 1).value) : events.last_time() + 1;
        StepRow row = RowOf(curves, device.framework.seen, begin, end, i < completed);
        row.step = source.clock.NumberOf(i);
        row.began = begin - std::min(begin, start);
        AddCounted(*sampling, begin, end, &row);
        rows.push_back(row);
      }
    }
  }
  return rows;
}

}  // namespace memprof::analysis::fleet
