// What each step held.
#include "analysis/fleet/internal/tables.h"
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
        rows.push_back(row);
      }
    }
  }
  return rows;
}

}  // namespace memprof::analysis::fleet
