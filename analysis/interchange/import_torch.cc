// PyTorch's snapshots: what its caching allocator did, as the events that a recorder beside it
// would have seen.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analysis/interchange/import.h"
#include "analysis/interchange/internal/constants.h"
#include "analysis/interchange/internal/torch_device_writer.h"
#include "analysis/interchange/internal/torch_names.h"
#include "analysis/interchange/internal/torch_snapshot.h"
#include "analysis/interchange/internal/torch_state.h"
#include "analysis/log/wire.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

using torch::DeviceWriter;
using torch::Names;

constexpr std::uint64_t kFirstNs = 1'000'000'000;  // where a snapshot names no time
constexpr std::string_view kStepPrefix = "ProfilerStep#";

// Named ranges; those of PyTorch's profiler that name steps become steps.
class Annotations {
 public:
  Annotations(const std::vector<torch::Annotation>& all, LogWriter* log) : all_(all), log_(*log) {
    if (!all.empty()) thread_ = log->Thread(0, "PyTorch, annotations");
  }
  void Take(std::size_t i, std::uint64_t time_ns) {
    const torch::Annotation& annotation = all_[i];
    LogWriter::Event event;
    event.time = time_ns;
    event.thread = thread_;
    std::uint64_t step = 0;
    if (annotation.name.substr(0, kStepPrefix.size()) == kStepPrefix &&
        absl::SimpleAtoi(absl::string_view(annotation.name.data(), annotation.name.size())
                             .substr(kStepPrefix.size()),
                         &step)) {
      if (!annotation.start) return;
      event.op = Op::kStep;
      event.aux0 = step;
      return log_.Add(event);
    }
    // Ranges of several threads may overlap, so each has a number by which it is ended.
    std::vector<std::uint64_t>& open = open_[std::string(annotation.name)];
    event.op = annotation.start ? Op::kRangePush : Op::kRangePop;
    if (annotation.start) {
      open.push_back(++numbers_);
      event.label = log_.String(annotation.name);
    } else if (open.empty()) {
      return log_.Count(log::Anomaly::kRangesUnbalanced);
    }
    event.aux1 = open.back();
    if (!annotation.start) open.pop_back();
    log_.Add(event);
  }

 private:
  const std::vector<torch::Annotation>& all_;
  LogWriter& log_;
  std::uint32_t thread_ = 0;
  std::uint64_t numbers_ = 0;
  absl::flat_hash_map<std::string, std::vector<std::uint64_t>> open_;
};

// One action or annotation in the order of time.
struct Moment {
  std::uint64_t time_ns = 0;
  std::size_t lane = 0;  // device, or the number of devices for annotations
  std::size_t index = 0;
};

// Each lane keeps its own order: if its clock goes backwards, the latest time is used.
class TimeOrder {
 public:
  explicit TimeOrder(const torch::Snapshot& snapshot) {
    bool timed = false;
    for (const torch::Device& device : snapshot.devices)
      for (const torch::Entry& entry : device.trace) timed |= entry.time_us != 0;
    for (std::size_t d = 0; d < snapshot.devices.size(); ++d) {
      std::uint64_t latest = 0;
      const std::vector<torch::Entry>& trace = snapshot.devices[d].trace;
      for (std::size_t i = 0; i < trace.size(); ++i) {
        const std::uint64_t time = timed ? trace[i].time_us * kNsPerUs : kFirstNs + i * kNsPerUs;
        held_ += time < latest;
        latest = std::max(latest, time);
        moments_.push_back({latest, d, i});
      }
    }
    for (std::size_t i = 0; i < snapshot.annotations.size(); ++i)
      moments_.push_back({snapshot.annotations[i].time_us * kNsPerUs, snapshot.devices.size(), i});
    std::stable_sort(moments_.begin(), moments_.end(),
                     [](const Moment& a, const Moment& b) { return a.time_ns < b.time_ns; });
  }
  const std::vector<Moment>& moments() const { return moments_; }
  std::uint64_t held() const { return held_; }
  std::uint64_t first() const {
    return std::max(moments_.empty() ? kFirstNs : moments_.front().time_ns, 2 * kNsPerUs);
  }

 private:
  std::vector<Moment> moments_;
  std::uint64_t held_ = 0;
};

void FillHeader(const torch::Settings& settings, std::string_view name, std::uint64_t first,
                LogWriter* log) {
  log::Header& header = log->header();
  header.set_executable(absl::StrCat("PyTorch memory snapshot ", ValidUtf8(name)));
  header.set_start_time_ns(first);
  header.set_start_unix_ns(first);  // a snapshot's times are those of the calendar
  if (!settings.configuration.empty())
    header.add_environment(
        absl::StrCat("PYTORCH_CUDA_ALLOC_CONF=", ValidUtf8(settings.configuration)));
}

}  // namespace

absl::StatusOr<ImportSummary> ImportTorchSnapshot(std::string_view bytes, std::string_view name,
                                                  LogWriter* log) {
  const absl::StatusOr<Pickle> pickle = Pickle::Parse(bytes);
  if (!pickle.ok()) return pickle.status();
  const absl::StatusOr<torch::Snapshot> snapshot = torch::ReadSnapshot(*pickle);
  if (!snapshot.ok()) return snapshot.status();
  const TimeOrder order(*snapshot);
  const std::uint64_t before = order.first() - kNsPerUs;
  FillHeader(snapshot->settings, name, before, log);

  ImportSummary summary;
  summary.format = ImportFormat::kTorchSnapshot;
  summary.unknown_actions = snapshot->unknown_actions;
  summary.overflowed = snapshot->settings.trace_overflowed;
  Names names(*pickle, log);
  std::vector<DeviceWriter> writers;
  writers.reserve(snapshot->devices.size());
  for (std::size_t d = 0; d < snapshot->devices.size(); ++d) {
    const torch::Device& device = snapshot->devices[d];
    summary.actions += device.trace.size();
    summary.devices += !device.trace.empty() || !device.segments.empty();
    log::Device definition;
    definition.set_ordinal(static_cast<std::uint32_t>(d));
    if (!device.trace.empty() || !device.segments.empty()) log->Device(definition);
    writers.emplace_back(static_cast<int>(d), device, snapshot->settings, &names, log);
    const torch::Reconstruction& state = writers.back().state();
    summary.segments_before += state.segments.size();
    summary.blocks_before += state.blocks.size();
    summary.contradictions += state.contradictions;
  }
  Annotations annotations(snapshot->annotations, log);

  for (DeviceWriter& writer : writers) writer.Begin(before);
  const bool truncated = summary.segments_before + summary.blocks_before > 0;
  if (truncated) writers.front().MarkBegin(before + kNsPerUs / 2);
  summary.end_time_ns = order.first();
  for (const Moment& moment : order.moments()) {
    summary.end_time_ns = std::max(summary.end_time_ns, moment.time_ns);
    moment.lane < writers.size() ? writers[moment.lane].Take(moment.index, moment.time_ns)
                                 : annotations.Take(moment.index, moment.time_ns);
  }
  summary.end_time_ns += kNsPerUs;
  for (DeviceWriter& writer : writers) writer.End(summary.end_time_ns);
  if (truncated)
    log->Count(log::Anomaly::kTraceTruncated, summary.segments_before + summary.blocks_before);
  if (summary.contradictions > 0)
    log->Count(log::Anomaly::kTraceContradictions, summary.contradictions);
  if (order.held() > 0) log->Count(log::Anomaly::kClockSteps, order.held());
  if (summary.unknown_actions > 0)
    log->Count(log::Anomaly::kEventsUnknown, summary.unknown_actions);
  log->Source("torch", log::SOURCE_ON, absl::StrCat("imported from ", ValidUtf8(name)), before);
  return summary;
}

}  // namespace memprof::analysis
