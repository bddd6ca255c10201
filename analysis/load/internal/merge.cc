// Merges events in order of time, with the rows that they now refer to.
#include "analysis/load/internal/merge.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/base/run_identity.h"
#include "analysis/load/internal/marks.h"
#include "analysis/load/internal/merge_steps.h"
#include "analysis/load/internal/merge_tables.h"

namespace memprof::analysis {
namespace {

// Builds one session, and cannot be used again. Not thread-safe.
class SessionMerger {
 public:
  explicit SessionMerger(const std::vector<std::shared_ptr<const Session>>& sessions)
      : parts_(sessions.size()) {
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      parts_[i].session = sessions[i].get();
      parts_[i].tag = std::uint64_t{i} << kProcessShift;
    }
  }

  std::shared_ptr<const Session> Merge(const StepFinder& finder) {
    MergeTables(&parts_, &data_);
    OrderEvents();
    MergeRecords();
    MergeEvents();
    FindSegments();
    FindRuns();
    EndEarlierRuns();
    EndEarlierSegments();
    Finish();
    FindSteps(finder);
    return std::make_shared<const Session>(std::move(data_));
  }

 private:
  using Part = MergePart;
  using Head = std::tuple<std::uint64_t, std::uint32_t>;  // sort key, and the part
  using Heads = std::priority_queue<Head, std::vector<Head>, std::greater<Head>>;

  // Calls `take(part, row)` for the rows of all parts, lowest `key(part, row)` first and, of equal
  // ones, in the order of parts.
  template <typename Size, typename Key, typename Take>
  void InOrder(Size size, Key key, Take take) {
    Heads heads;
    std::vector<std::uint32_t> next(parts_.size(), 0);
    for (std::uint32_t p = 0; p < parts_.size(); ++p)
      if (size(parts_[p]) > 0) heads.emplace(key(parts_[p], 0), p);
    while (!heads.empty()) {
      const std::uint32_t p = std::get<1>(heads.top());
      heads.pop();
      take(p, next[p]);
      if (++next[p] < size(parts_[p])) heads.emplace(key(parts_[p], next[p]), p);
    }
  }

  void OrderEvents() {
    for (Part& part : parts_) part.events.reserve(part.session->events().size());
    InOrder([](const Part& part) { return part.session->events().size(); },
            [](const Part& part, std::uint32_t row) {
              return part.session->events().time(row) + part.shift;
            },
            [this](std::uint32_t p, std::uint32_t) {
              parts_[p].events.push_back(static_cast<std::uint32_t>(order_.size()));
              order_.push_back(static_cast<std::uint8_t>(p));
            });
  }

  void MergeRecords() {
    std::size_t count = 0;
    for (Part& part : parts_) {
      count += part.session->records().size();
      part.records.reserve(part.session->records().size());
    }
    data_.events.Reserve(order_.size(), count);
    std::vector<AllocationRecord>& records = *data_.events.mutable_records();
    InOrder([](const Part& part) { return part.session->records().size(); },
            [](const Part& part, std::uint32_t row) {
              return std::uint64_t{part.events[part.session->records()[row].birth.value]};
            },
            [&](std::uint32_t p, std::uint32_t row) {
              parts_[p].records.push_back(static_cast<std::uint32_t>(records.size()));
              records.push_back(Record(parts_[p], parts_[p].session->records()[row]));
            });
    for (const Part& part : parts_) {  // a parent may be younger
      const auto old = part.session->records();
      for (std::size_t row = 0; row < old.size(); ++row)
        records[part.records[row]].parent =
            AllocationId(RowIn(part.records, old[row].parent.value));
    }
  }

  AllocationRecord Record(const Part& part, AllocationRecord record) const {
    record.address = part.Tagged(record.address);
    if (record.pool() != 0) record.extra = part.Tagged(record.pool());
    if (record.tensor().value < part.session->data().tensors.size()) record.extra += part.tensors;
    record.birth = EventId(part.events[record.birth.value]);
    record.death = EventId(RowIn(part.events, record.death.value));
    record.stack = StackId(RowIn(part.stacks, record.stack.value));
    record.device = part.DeviceOf(record.device);
    return record;
  }

  void MergeEvents() {
    std::vector<std::uint32_t> next(parts_.size(), 0);
    for (const std::uint8_t p : order_) data_.events.Append(EventOf(parts_[p], next[p]++));
    data_.events.Finish();
  }

  Event EventOf(const Part& part, std::uint32_t row) const {
    Event event = part.session->events()[row];
    event.time += part.shift;
    event.device = part.DeviceOf(event.device);
    if (event.thread != EventId::kNone) event.thread += part.threads;
    if (event.context != EventId::kNone) event.context += part.contexts;
    event.api = StringId(RowIn(part.strings, event.api.value));
    event.stream = part.TaggedStream(event.stream);
    if (event.op != Op::kLevel) event.address = part.Tagged(event.address);
    event.stack = StackId(RowIn(part.stacks, event.stack.value));
    if (event.label != EventId::kNone)
      event.label = event.layer == Layer::kTensor ? event.label + part.tensors
                                                  : RowIn(part.strings, event.label);
    event.allocation = AllocationId(RowIn(part.records, event.allocation.value));
    TagOperands(part, &event);
    return event;
  }

  // The operands that are addresses or handles; see log.Op and log.Layer in proto/memprof.proto.
  static void TagOperands(const Part& part, Event* event) {
    switch (event->op) {
      case Op::kMap:
      case Op::kMemcpy:
      case Op::kModuleGlobal:
        event->aux0 = part.Tagged(event->aux0);
        break;
      case Op::kRangePush:
      case Op::kRangePop:
        event->aux1 = part.Tagged(event->aux1);
        break;
      case Op::kThinned:
        event->aux0 += part.shift;
        break;
      case Op::kAlloc:
        // The number of an IPC handle is the same in all processes.
        if (event->layer == Layer::kStreamOrdered || event->layer == Layer::kGraph ||
            (event->layer == Layer::kImported &&
             event->aux1 != static_cast<std::uint64_t>(ImportKind::kIpc)))
          event->aux0 = part.Tagged(event->aux0);
        break;
      default:
        break;
    }
  }

  // Segments of one process follow each other without a gap.
  void FindSegments() {
    const auto begin = [this](std::size_t i) {
      return parts_[i].session->run().start_time + parts_[i].shift;
    };
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      std::uint32_t& next = data_.processes[i].next_segment;
      for (std::uint32_t other = 0; other < parts_.size(); ++other)
        if (GoesOn(parts_[i].session->run(), parts_[other].session->run()) &&
            parts_[i].shift == parts_[other].shift &&
            (next == EventId::kNone || begin(other) < begin(next)))
          next = other;
    }
  }
  static bool GoesOn(const RunInfo& run, const RunInfo& later) {
    return run.always_on.segment > 0 && run.always_on.segment < later.always_on.segment &&
           run.pid != 0 && run.pid == later.pid && run.hostname == later.hostname &&
           run.executable == later.executable && run.start_time < later.start_time;
  }

  void FindRuns() {
    for (const Part& part : parts_) {
      const RunInfo& run = part.session->run();
      const TimeNs first = run.start_time != 0 || part.session->events().empty()
                               ? run.start_time
                               : part.session->events().first_time();
      spans_.push_back({first + part.shift, run.end_time + part.shift});
    }
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (const std::uint32_t next = data_.processes[i].next_segment; next != EventId::kNone)
        spans_[i].end = std::max(spans_[i].end, spans_[next].begin);
    runs_ = NumberRuns(spans_);
    for (std::size_t i = 0; i < runs_.size(); ++i) data_.processes[i].run_number = runs_[i];
  }

  // Memory that a run still holds when its log ends was freed with its processes, before the next
  // run began: no peak counts both. If the processes of one run end one after the other, their
  // memory counts until the end of the run.
  void EndEarlierRuns() {
    std::vector<EventId> ends(1 + *std::max_element(runs_.begin(), runs_.end()));
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].events.empty()) continue;
      const EventId first(parts_[i].events.front());
      for (std::uint32_t run = 0; run < runs_[i]; ++run)
        if (!ends[run].valid() || first < ends[run]) ends[run] = first;
    }
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (ends[runs_[i]].valid()) EndAt(parts_[i], ends[runs_[i]]);
  }
  // What is alive as a segment ends is listed again by the next one.
  void EndEarlierSegments() {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::uint32_t next = data_.processes[i].next_segment;
      if (next != EventId::kNone && !parts_[next].events.empty())
        EndAt(parts_[i], EventId(parts_[next].events.front()));
    }
  }
  void EndAt(const Part& part, EventId end) {
    std::vector<AllocationRecord>& records = *data_.events.mutable_records();
    for (const std::uint32_t row : part.records) {
      if (!records[row].alive()) continue;
      records[row].death = end;
      records[row].end_reason = EndReason::kContextDestroyed;
    }
  }

  // Steps are those of each log by itself: in all events together ranks hide each other's pattern.
  void FindSteps(const StepFinder& finder) {
    std::vector<FoundSteps> found;
    for (const Part& part : parts_) {
      const Session& own = *part.session;
      if (own.step_origin().source == StepSource::kNone && finder)
        found.push_back(finder(own));
      else
        found.push_back({own.step_origin(), own.data().steps});
      for (StepInfo& step : found.back().steps) {
        step.begin += part.shift;
        step.end += part.shift;
        step.event = EventId(RowIn(part.events, step.event.value));
      }
    }
    MergedSteps merged = MergeSteps(found, spans_, runs_);
    // A rank without steps has those of the others; a segment has not those of another one.
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (parts_[i].session->run().always_on.segment > 0 && found[i].steps.empty())
        merged.of_log[i] = std::move(found[i]);
    data_.steps = std::move(merged.job.steps);
    data_.step_origin = std::move(merged.job.origin);
    data_.process_steps = std::move(merged.of_log);
  }

  void Finish() {
    SessionData& to = data_;
    Marks marks = CollectMarks(to.events, to.strings, to.run.end_time);
    to.ranges = std::move(marks.ranges);
    to.snapshots = std::move(marks.snapshots);
  }

  SessionData data_;
  std::vector<Part> parts_;
  std::vector<std::uint8_t> order_;  // the part that each event is of
  std::vector<RunSpan> spans_;       // of each part
  std::vector<std::uint32_t> runs_;  // the run that each part is of
};

}  // namespace

int RankOf(const RunInfo& run) { return static_cast<int>(IdentityOf(run).rank.value_or(-1)); }

std::shared_ptr<const Session> MergeSessions(
    const std::vector<std::shared_ptr<const Session>>& parts, const StepFinder& finder) {
  return SessionMerger(parts).Merge(finder);
}

}  // namespace memprof::analysis
