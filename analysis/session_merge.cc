// Merges sessions: tables first, then events in order of time with the rows they now refer to.
#include "analysis/session_merge.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analysis/session_index.h"
#include "analysis/session_marks.h"
#include "analysis/session_merge_steps.h"

namespace memprof::analysis {
namespace {

constexpr std::uint32_t kNone = EventId::kNone;

// When a log's monotonic clock was zero, as a wall clock; 0 = unknown.
std::uint64_t ClockZero(const RunInfo& run) {
  return run.start_unix_ns > run.start_time ? run.start_unix_ns - run.start_time : 0;
}

// On one host, clocks that were zero within so many nanoseconds of each other are one clock: its
// wall clock is set and slewed while it runs, and to boot takes longer.
constexpr std::uint64_t kSameBoot = 10'000'000'000;

}  // namespace

int RankOf(const RunInfo& run) {
  for (const std::string_view name :
       {"RANK=", "OMPI_COMM_WORLD_RANK=", "PMI_RANK=", "SLURM_PROCID="}) {
    for (const std::string& variable : run.environment) {
      if (!std::string_view(variable).starts_with(name)) continue;
      const std::string value = variable.substr(name.size());
      char* end = nullptr;
      const long rank = std::strtol(value.c_str(), &end, 10);
      if (!value.empty() && *end == '\0' && rank >= 0 && rank < 1'000'000)
        return static_cast<int>(rank);
    }
  }
  return -1;
}

// Builds one session, then is thrown away. Not thread-safe.
class SessionMerger {
 public:
  explicit SessionMerger(const std::vector<std::shared_ptr<const Session>>& sessions)
      : session_(new Session()), parts_(sessions.size()) {
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      parts_[i].session = sessions[i].get();
      parts_[i].tag = std::uint64_t{i} << kProcessShift;
    }
  }

  std::shared_ptr<const Session> Merge(const StepFinder& finder) {
    AlignClocks();
    for (Part& part : parts_) MergeDevices(part, true);
    for (Part& part : parts_) MergeDevices(part, false);
    for (Part& part : parts_) {
      MergeTables(part);
      MergeStacks(part);
    }
    MergeRuns();
    std::sort(session_->devices_.begin(), session_->devices_.end(),
              [](const DeviceInfo& a, const DeviceInfo& b) { return a.id < b.id; });
    OrderEvents();
    MergeRecords();
    MergeEvents();
    FindRuns();
    EndEarlierRuns();
    Finish();
    FindSteps(finder);
    return std::move(session_);
  }

 private:
  // One log, and where its rows are now.
  struct Part {
    const Session* session = nullptr;
    std::uint64_t tag = 0, shift = 0;
    std::uint32_t threads = 0, contexts = 0, tensors = 0;  // rows before its own
    absl::flat_hash_map<int, int> devices;
    std::vector<std::uint32_t> strings, modules, frames, stacks, events, records;
  };
  using Head = std::tuple<std::uint64_t, std::uint32_t>;  // what to order by, and the part
  using Heads = std::priority_queue<Head, std::vector<Head>, std::greater<Head>>;

  // Shifts are to the clock that was zero first, so that no time becomes negative.
  void AlignClocks() {
    std::vector<std::pair<std::string, std::uint64_t>> clocks;
    std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
    for (Part& part : parts_) {
      const RunInfo& run = part.session->run();
      const std::uint64_t zero = ClockZero(run);
      const auto same = std::find_if(clocks.begin(), clocks.end(), [&](const auto& clock) {
        const std::uint64_t apart = clock.second > zero ? clock.second - zero : zero - clock.second;
        return clock.first == run.hostname && apart < kSameBoot;
      });
      part.shift = same == clocks.end() ? zero : same->second;
      if (same == clocks.end()) clocks.emplace_back(run.hostname, zero);
      if (zero != 0) first = std::min(first, part.shift);
    }
    for (Part& part : parts_) part.shift -= part.shift == 0 ? 0 : first;
  }

  // First those that have a UUID, then those that are what they are by their ordinal: a log knows
  // no more of a device that its process only touched.
  void MergeDevices(Part& part, bool with_uuid) {
    const std::string& host = part.session->run().hostname;
    for (const DeviceInfo& device : part.session->devices()) {
      if (device.uuid.empty() == with_uuid) continue;
      const std::string ordinal = absl::StrCat("#", device.id);
      const std::string identity = with_uuid ? absl::StrCat("=", device.uuid) : ordinal;
      const auto [at, fresh] = devices_.try_emplace(std::pair(host, identity), 0);
      if (fresh) {
        at->second = FreeOrdinal(device.id);
        session_->devices_.push_back(device);
        session_->devices_.back().id = at->second;
      }
      const int merged = at->second;
      if (with_uuid) devices_.try_emplace(std::pair(host, ordinal), merged);
      for (DeviceInfo& known : session_->devices_)
        if (known.id == merged && known.capacity_bytes == 0)
          known.capacity_bytes = device.capacity_bytes;
      part.devices[device.id] = merged;
    }
  }

  int FreeOrdinal(int wish) const {
    const auto taken = [this](int id) {
      return std::any_of(session_->devices_.begin(), session_->devices_.end(),
                         [id](const DeviceInfo& device) { return device.id == id; });
    };
    if (!taken(wish)) return wish;
    int id = 0;
    while (taken(id)) ++id;
    return id;
  }

  std::int16_t DeviceOf(const Part& part, int device) const {
    const auto at = part.devices.find(device);
    return static_cast<std::int16_t>(at == part.devices.end() ? device : at->second);
  }

  static std::uint32_t In(const std::vector<std::uint32_t>& rows, std::uint32_t row) {
    return row < rows.size() ? rows[row] : kNone;
  }
  static std::uint64_t Tagged(const Part& part, std::uint64_t address) {
    return address == 0 ? 0 : address | part.tag;
  }
  // The driver's own names of streams (legacy and per-thread default) are the same everywhere.
  static std::uint64_t TaggedStream(const Part& part, std::uint64_t stream) {
    return stream <= 2 ? stream : stream | part.tag;
  }

  void MergeTables(Part& part) {
    const Session& from = *part.session;
    Session& to = *session_;
    part.threads = static_cast<std::uint32_t>(to.threads_.size());
    part.contexts = static_cast<std::uint32_t>(to.contexts_.size());
    part.tensors = static_cast<std::uint32_t>(to.tensors_.size());
    for (ThreadInfo thread : from.threads_) {
      thread.process = static_cast<std::uint32_t>(&part - parts_.data());
      to.threads_.push_back(std::move(thread));
    }
    for (ContextInfo context : from.contexts_) {
      context.device = DeviceOf(part, context.device);
      to.contexts_.push_back(context);
    }
    for (PoolInfo pool : from.pools_) {
      pool.handle = Tagged(part, pool.handle);
      pool.device = DeviceOf(part, pool.device);
      to.pools_.push_back(pool);
    }
    to.tensors_.insert(to.tensors_.end(), from.tensors_.begin(), from.tensors_.end());
    for (const std::string& text : from.strings_) {
      const auto [at, fresh] =
          strings_.try_emplace(text, static_cast<std::uint32_t>(to.strings_.size()));
      if (fresh) to.strings_.push_back(text);
      part.strings.push_back(at->second);
    }
    for (const ModuleInfo& module : from.modules_) {
      const auto [at, fresh] = modules_.try_emplace(
          std::tuple(module.path, module.build_id, module.end_address - module.first_address),
          static_cast<std::uint32_t>(to.modules_.size()));
      if (fresh) to.modules_.push_back(module);
      part.modules.push_back(at->second);
    }
  }

  // A native frame has the address that it has in the first process which loaded its module.
  Frame FrameOf(const Part& part, Frame frame) const {
    if (frame.python) {
      frame.function = StringId(In(part.strings, frame.function.value));
      frame.file = StringId(In(part.strings, frame.file.value));
      return frame;
    }
    if (frame.module >= part.modules.size()) return frame;
    const ModuleInfo& old = part.session->modules_[frame.module];
    frame.module = part.modules[frame.module];
    frame.address += session_->modules_[frame.module].load_bias - old.load_bias;
    return frame;
  }

  void MergeStacks(Part& part) {
    const Session& from = *part.session;
    Session& to = *session_;
    for (const Frame& old : from.frames_) {
      const Frame frame = FrameOf(part, old);
      // Code of no known module is of its process alone.
      const bool homeless = !frame.python && frame.module == kNone;
      const auto [at, fresh] = frames_.try_emplace(
          std::tuple(frame.python, homeless ? Tagged(part, frame.address) : frame.address,
                     frame.module, frame.function.value, frame.file.value, frame.line),
          static_cast<std::uint32_t>(to.frames_.size()));
      if (fresh) to.frames_.push_back(frame);
      part.frames.push_back(at->second);
    }
    for (std::uint32_t row = 0; row < from.stack_count(); ++row) {
      // A caller has a lower row than what it calls.
      const StackId parent(In(part.stacks, from.stack_parent_[row].value));
      const FrameId frame(In(part.frames, from.stack_frame_[row].value));
      const auto [at, fresh] =
          stacks_.try_emplace(std::pair(parent.value, frame.value),
                              static_cast<std::uint32_t>(to.stack_parent_.size()));
      if (fresh) {
        to.stack_parent_.push_back(parent);
        to.stack_frame_.push_back(frame);
      }
      part.stacks.push_back(at->second);
    }
  }

  void MergeRuns() {
    Session& to = *session_;
    const Session& first = *parts_[0].session;
    to.path_ = parts_.size() == 1 ? first.path()
                                  : absl::StrCat(first.path(), " and ", parts_.size() - 1, " more");
    to.run_ = first.run();
    to.run_.start_time = kForever;
    to.run_.end_time = 0;
    for (const Part& part : parts_) {
      const RunInfo& run = part.session->run();
      to.run_.start_time = std::min(to.run_.start_time, run.start_time + part.shift);
      to.run_.end_time = std::max(to.run_.end_time, run.end_time + part.shift);
      // Of those that know it.
      std::uint64_t& unix_ns = to.run_.start_unix_ns;
      if (run.start_unix_ns != 0 && (unix_ns == 0 || run.start_unix_ns < unix_ns))
        unix_ns = run.start_unix_ns;
      to.run_.complete = to.run_.complete && run.complete;
      to.run_.growing = to.run_.growing || run.growing;
      to.processes_.push_back({part.session->path(), run, part.shift, RankOf(run)});
      AddSelf(part.session->self());
      AddCounts(*part.session);
    }
  }

  void AddSelf(const SelfAccounting& self) {
    SelfAccounting& sum = session_->self_;
    sum.events += self.events;
    sum.events_written += self.events_written;
    sum.bytes_written += self.bytes_written;
    sum.hook_time_ns += self.hook_time_ns;
    sum.writer_cpu_ns += self.writer_cpu_ns;
    sum.resident_bytes += self.resident_bytes;
    sum.stacks += self.stacks;
  }

  // Anomalies are added up; of sources, what differs is told once.
  void AddCounts(const Session& from) {
    for (const AnomalyCount& anomaly : from.anomalies_) {
      const auto known =
          std::find_if(session_->anomalies_.begin(), session_->anomalies_.end(),
                       [&](const AnomalyCount& other) { return other.anomaly == anomaly.anomaly; });
      if (known == session_->anomalies_.end())
        session_->anomalies_.push_back(anomaly);
      else
        known->count += anomaly.count;
    }
    for (const SourceInfo& source : from.sources_) {
      const bool known = std::any_of(
          session_->sources_.begin(), session_->sources_.end(), [&](const SourceInfo& other) {
            return other.name == source.name && other.state == source.state &&
                   other.detail == source.detail;
          });
      if (!known) session_->sources_.push_back(source);
    }
  }

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
    session_->events_.Reserve(order_.size(), count);
    std::vector<AllocationRecord>& records = *session_->events_.mutable_records();
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
        records[part.records[row]].parent = AllocationId(In(part.records, old[row].parent.value));
    }
  }

  AllocationRecord Record(const Part& part, AllocationRecord record) const {
    record.address = Tagged(part, record.address);
    if (record.layer == Layer::kStreamOrdered || record.layer == Layer::kSegment)
      record.second = Tagged(part, record.second);
    if (record.layer == Layer::kTensor && record.second < part.session->tensors_.size())
      record.second += part.tensors;
    record.birth = EventId(part.events[record.birth.value]);
    record.death = EventId(In(part.events, record.death.value));
    record.stack = StackId(In(part.stacks, record.stack.value));
    record.device = DeviceOf(part, record.device);
    return record;
  }

  void MergeEvents() {
    std::vector<std::uint32_t> next(parts_.size(), 0);
    for (const std::uint8_t p : order_) session_->events_.Append(EventOf(parts_[p], next[p]++));
    session_->events_.Finish();
  }

  Event EventOf(const Part& part, std::uint32_t row) const {
    Event event = part.session->events()[row];
    event.time += part.shift;
    event.device = DeviceOf(part, event.device);
    if (event.thread != kNone) event.thread += part.threads;
    if (event.context != kNone) event.context += part.contexts;
    event.api = StringId(In(part.strings, event.api.value));
    event.stream = TaggedStream(part, event.stream);
    event.address = Tagged(part, event.address);
    event.stack = StackId(In(part.stacks, event.stack.value));
    if (event.label != kNone)
      event.label = event.layer == Layer::kTensor ? event.label + part.tensors
                                                  : In(part.strings, event.label);
    event.allocation = AllocationId(In(part.records, event.allocation.value));
    TagOperands(part, &event);
    return event;
  }

  // The operands that are addresses or handles; see log.Op and log.Layer in proto/memprof.proto.
  static void TagOperands(const Part& part, Event* event) {
    switch (event->op) {
      case Op::kMap:
      case Op::kMemcpy:
      case Op::kModuleGlobal:
        event->aux0 = Tagged(part, event->aux0);
        break;
      case Op::kRangePush:
      case Op::kRangePop:
        event->aux1 = Tagged(part, event->aux1);
        break;
      case Op::kAlloc:
        if (event->layer == Layer::kStreamOrdered || event->layer == Layer::kImported ||
            event->layer == Layer::kGraph)
          event->aux0 = Tagged(part, event->aux0);
        break;
      default:
        break;
    }
  }

  void FindRuns() {
    for (const Part& part : parts_) {
      const RunInfo& run = part.session->run();
      const TimeNs first = run.start_time != 0 || part.session->events().empty()
                               ? run.start_time
                               : part.session->events().first_time();
      spans_.push_back({first + part.shift, run.end_time + part.shift});
    }
    runs_ = NumberRuns(spans_);
    for (std::size_t i = 0; i < runs_.size(); ++i) session_->processes_[i].run_number = runs_[i];
  }

  // What a run still held as its log ended went with its processes, before the next run began: no
  // peak counts both. Processes of one run that end one after the other keep theirs to the end.
  void EndEarlierRuns() {
    std::vector<EventId> ends(1 + *std::max_element(runs_.begin(), runs_.end()));
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].events.empty()) continue;
      const EventId first(parts_[i].events.front());
      for (std::uint32_t run = 0; run < runs_[i]; ++run)
        if (!ends[run].valid() || first < ends[run]) ends[run] = first;
    }
    std::vector<AllocationRecord>& records = *session_->events_.mutable_records();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!ends[runs_[i]].valid()) continue;
      for (const std::uint32_t row : parts_[i].records) {
        if (!records[row].alive()) continue;
        records[row].death = ends[runs_[i]];
        records[row].end_reason = EndReason::kContextDestroyed;
      }
    }
  }

  // Steps are those of each log by itself: in all events together ranks hide each other's pattern.
  void FindSteps(const StepFinder& finder) {
    std::vector<FoundSteps> found;
    for (const Part& part : parts_) {
      const Session& own = *part.session;
      if (own.step_origin_.source == StepSource::kNone && finder)
        found.push_back(finder(own));
      else
        found.push_back({own.step_origin_, own.steps_});
      for (StepInfo& step : found.back().steps) {
        step.begin += part.shift;
        step.end += part.shift;
        step.event = EventId(In(part.events, step.event.value));
      }
    }
    MergedSteps merged = MergeSteps(std::move(found), spans_, runs_);
    session_->steps_ = std::move(merged.job.steps);
    session_->step_origin_ = std::move(merged.job.origin);
    session_->process_steps_ = std::move(merged.of_log);
  }

  void Finish() {
    Session& to = *session_;
    Marks marks = CollectMarks(to.events_, to.strings_, to.run_.end_time);
    to.ranges_ = std::move(marks.ranges);
    to.snapshots_ = std::move(marks.snapshots);
    SessionIndexer(&to).Index();
  }

  std::shared_ptr<Session> session_;
  std::vector<Part> parts_;
  std::vector<std::uint8_t> order_;  // the part that each event is of
  std::vector<RunSpan> spans_;       // of each part
  std::vector<std::uint32_t> runs_;  // the run that each part is of
  absl::flat_hash_map<std::pair<std::string, std::string>, int> devices_;  // host, identity
  absl::flat_hash_map<std::string, std::uint32_t> strings_;
  absl::flat_hash_map<std::tuple<std::string, std::string, std::uint64_t>, std::uint32_t> modules_;
  absl::flat_hash_map<
      std::tuple<bool, std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>,
      std::uint32_t>
      frames_;
  absl::flat_hash_map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> stacks_;
};

std::shared_ptr<const Session> MergeSessions(
    const std::vector<std::shared_ptr<const Session>>& parts, const StepFinder& finder) {
  return SessionMerger(parts).Merge(finder);
}

absl::StatusOr<std::shared_ptr<const Session>> Session::LoadTogether(
    const std::vector<std::string>& paths, const LoadOptions& options) {
  return LoadReadable(paths, options, {});
}

absl::StatusOr<std::shared_ptr<const Session>> LoadReadable(
    const std::vector<std::string>& paths, const LoadOptions& options,
    const std::function<void(const absl::Status&)>& skipped) {
  if (paths.empty()) return absl::InvalidArgumentError("no log is named");
  if (paths.size() > kMaxProcesses)
    return absl::InvalidArgumentError(
        absl::StrCat(paths.size(), " logs are more than a session can hold (", kMaxProcesses, ")"));
  std::vector<std::shared_ptr<const Session>> parts;
  std::uint64_t events = 0;
  std::size_t done = 0;
  absl::Status unreadable;
  for (const std::string& path : paths) {
    LoadOptions own = options;
    if (paths.size() > 1) own.step_finder = {};  // steps are those of all together
    if (options.progress)
      own.progress = [&](double share) {
        return options.progress((static_cast<double>(done) + share) /
                                static_cast<double>(paths.size()));
      };
    absl::StatusOr<std::shared_ptr<const Session>> part = Session::Load(path, own);
    ++done;
    if (!part.ok() && skipped && paths.size() > 1 && !absl::IsCancelled(part.status())) {
      skipped(part.status());
      unreadable = part.status();
      continue;
    }
    if (!part.ok()) return part.status();
    for (const auto& other : parts) {
      const RunInfo &a = other->run(), &b = (*part)->run();
      if (a.pid == b.pid && a.start_time == b.start_time && a.hostname == b.hostname && a.pid != 0)
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": is the same run as ", other->path()));
    }
    events += (*part)->events().size();
    parts.push_back(*std::move(part));
  }
  if (parts.empty()) return unreadable;
  if (paths.size() == 1) return parts[0];
  if (events > EventTable::kMost)
    return absl::InvalidArgumentError(
        absl::StrCat("the logs have ", events, " events together, more than a session can hold"));
  return MergeSessions(parts, options.step_finder);
}

}  // namespace memprof::analysis
