// Indices over a session's events and lifetimes.
#include "analysis/store/internal/session_index.h"

#include <algorithm>
#include <utility>

namespace memprof::analysis {
namespace {

constexpr std::uint32_t kCheckpointEvents = 65'536;

void CopyLiveColumns(SessionData* data) {
  const std::vector<AllocationRecord>& records = data->events.records();
  data->live_until.reserve(records.size());
  data->live_layer.reserve(records.size());
  for (const AllocationRecord& record : records) {
    data->live_until.push_back(record.death.value);
    data->live_layer.push_back(record.layer);
  }
}

void IndexChildren(SessionData* data) {
  const std::vector<AllocationRecord>& allocations = data->events.records();
  const auto has_parent = [](const AllocationRecord& a) { return a.parent.valid(); };
  if (std::none_of(allocations.begin(), allocations.end(), has_parent)) return;
  std::vector<std::uint32_t>& begin = data->children_begin;
  begin.assign(allocations.size() + 1, 0);
  for (const AllocationRecord& allocation : allocations)
    if (has_parent(allocation)) ++begin[allocation.parent.value + 1];
  for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  data->children.resize(begin.back());
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  for (std::uint32_t i = 0; i < allocations.size(); ++i)
    if (has_parent(allocations[i]))
      data->children[next[allocations[i].parent.value]++] = AllocationId(i);
}

void IndexMarks(SessionData* data) {
  const EventTable& events = data->events;
  for (std::uint32_t i = 0; i < events.size(); ++i)
    if (IsMark(events.op(i)) && events.allocation(i).valid()) data->marks.push_back(EventId(i));
  std::stable_sort(data->marks.begin(), data->marks.end(), [&](EventId a, EventId b) {
    return events.allocation(a.value) < events.allocation(b.value);
  });
}

void IndexDeaths(SessionData* data) {
  const EventTable& events = data->events;
  const std::vector<AllocationRecord>& records = events.records();
  std::vector<AllocationId>& others = data->other_deaths;
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const EventId death = records[i].death;
    if (!death.valid()) continue;
    if (records[i].end_reason != EndReason::kFreed || events.op(death.value) != Op::kFree ||
        events.allocation(death.value) != AllocationId(i))
      others.push_back(AllocationId(i));
  }
  std::stable_sort(others.begin(), others.end(), [&](AllocationId a, AllocationId b) {
    return records[a.value].death < records[b.value].death;
  });
}

// A checkpoint is written where it at least halves the time of LiveAfter, counted in rows: an id of
// a checkpoint costs kRowsOfId of them. So between two checkpoints far more is born than the second
// one holds, even in a program that never frees.
void WriteCheckpoints(SessionData* data) {
  constexpr std::uint64_t kRowsOfId = 8, kFewRows = 1 << 16;
  const std::vector<AllocationRecord>& allocations = data->events.records();
  const std::size_t count = data->events.size() / kCheckpointEvents;
  std::vector<std::uint64_t> births(count + 2), deaths(count + 2);  // before checkpoint i
  for (const AllocationRecord& allocation : allocations) {
    ++births[allocation.birth.value / kCheckpointEvents + 1];
    if (allocation.death.valid()) ++deaths[allocation.death.value / kCheckpointEvents + 1];
  }
  std::uint64_t live = 0, to_look_at = 0;
  for (std::size_t i = 1; i <= count; ++i) {
    live += births[i] - deaths[i];
    to_look_at += births[i];
    if (to_look_at < 2 * kRowsOfId * live + kFewRows) continue;
    const auto event = static_cast<std::uint32_t>(i * kCheckpointEvents);
    LiveCheckpoint checkpoint{event, LiveAfter(*data, EventId(event - 1))};
    checkpoint.live.shrink_to_fit();
    to_look_at = kRowsOfId * checkpoint.live.size();
    data->checkpoints.push_back(std::move(checkpoint));
  }
}

}  // namespace

void IndexSession(SessionData* data) {
  IndexChildren(data);
  IndexMarks(data);
  IndexDeaths(data);
  CopyLiveColumns(data);
  WriteCheckpoints(data);
}

}  // namespace memprof::analysis
