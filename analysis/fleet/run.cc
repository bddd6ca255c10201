// The row of a run.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/allocators/torch_settings.h"
#include "analysis/fleet/internal/tables.h"
#include "analysis/oom/oom.h"
#include "analysis/steps/found.h"
#include "analysis/timeline/ledger.h"
#include "proto/anomalies.h"
#include "proto/memprof.pb.h"

namespace memprof::analysis::fleet {
namespace {

std::string ProgramOf(const RunInfo& run) {
  std::string program = run.arguments.empty() ? run.executable : absl::StrJoin(run.arguments, " ");
  absl::StripTrailingAsciiWhitespace(&program);  // of a process that changed its title, as Ray's
  return program;
}

// As nvidia-smi prints it.
std::string UuidText(const std::string& raw) {
  if (raw.size() != 16) return "";
  std::string text = absl::BytesToHexString(raw);
  for (const std::size_t dash : {20, 16, 12, 8}) text.insert(dash, "-");
  return absl::StrCat("GPU-", text);
}

const AllocationRecord* BelowASegment(const Session& session) {
  for (const AllocationRecord& a : session.records())
    if (a.layer == Layer::kSegment && a.parent.valid()) return &session.record(a.parent);
  return nullptr;
}

// By the source that reports its blocks, else by the pool whose code asked the driver.
std::string FrameworkOf(const Source& source) {
  for (const SourceInfo& one : source.session.sources())
    if (one.name == "torch" && (one.state == log::SOURCE_ON || one.state == log::SOURCE_LOST))
      return "PyTorch";
  const AllocationRecord* below = BelowASegment(source.session);
  if (below == nullptr || !below->stack.valid()) return "";
  const Library library = source.symbols.LibraryOf(below->stack);
  return library.role == LibraryRole::kPool ? std::string(library.name) : "";
}

// Segments that grow are mapped page by page; others are one allocation each.
std::optional<bool> ExpandableOf(const Session& session) {
  bool seen = false;
  for (const AllocationRecord& a : session.records()) {
    if (a.layer != Layer::kSegment) continue;
    seen = true;
    if (a.parent.valid() && session.record(a.parent).layer == Layer::kVmmPhysical) return true;
  }
  return seen ? std::optional(false) : std::nullopt;
}

std::string EndOf(const Session& session) {
  const RunInfo& run = session.run();
  if (run.complete) return "clean";
  if (run.growing) return "growing";
  const auto cut = [](const AnomalyCount& count) {
    return count.anomaly == log::Anomaly::kTailCut || count.anomaly == log::Anomaly::kChunksCorrupt;
  };
  return std::ranges::any_of(session.anomalies(), cut) ? "cut" : "killed";
}

// "events_lost 3, definitions_lost 2".
std::string LossList(const Session& session) {
  struct Counter {
    std::string_view name;
    log::Severity severity;
  };
#define MEMPROF_ANOMALY_ROW(identifier, name, severity, advice) {name, log::Severity::severity},
  static constexpr Counter kCounters[] = {MEMPROF_ANOMALIES(MEMPROF_ANOMALY_ROW)};
#undef MEMPROF_ANOMALY_ROW
  std::string text;
  for (const AnomalyCount& count : session.anomalies()) {
    const Counter& counter = kCounters[static_cast<std::size_t>(count.anomaly)];
    if (counter.severity != log::Severity::kDataLoss && counter.severity != log::Severity::kError)
      continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", std::string(counter.name), " ", count.count);
  }
  return text;
}

const DeviceFigures* MainDevice(const Report& report) {
  const auto held = [](const DeviceFigures& device) {
    return std::max(device.peak_bytes, device.framework.peak_bytes);
  };
  const auto most = std::ranges::max_element(report.devices, {}, held);
  return most == report.devices.end() || !WasUsed(*most) ? nullptr : &*most;
}

Known OthersPeak(const Session& session, int device) {
  Known most;
  for (const MemorySample& sample : SamplesOf(session)->Of(device))
    if (sample.others_bytes) most = std::max(most.value_or(0), *sample.others_bytes);
  return most;
}

void AddDevice(const Source& source, const DeviceFigures& device, RunRow* row) {
  row->device = device.info.id;
  row->device_name = device.info.name;
  row->device_uuid = UuidText(device.info.uuid);
  if (device.info.capacity_bytes > 0) row->device_bytes = device.info.capacity_bytes;
  row->simulated = device.info.simulated;
  row->driver_version = device.info.driver_version;
  row->peak = device.peak_bytes;
  row->device_peak = device.device_peak_bytes;
  if (device.framework.seen) {
    row->allocated_peak = device.framework.peak_bytes;
    row->reserved_peak = device.framework.peak_reserved_bytes;
    row->unusable_at_peak = 0;
  }
  for (const Peak& peak : source.report.peaks)
    if (peak.device == row->device && peak.step >= 0) row->peak_step = peak.step;
  row->others_peak = OthersPeak(source.session, row->device);
  for (const PoolFragmentation& pool : source.report.fragmentation.pools)
    if (pool.device == row->device)
      row->unusable_at_peak = row->unusable_at_peak.value_or(0) + pool.unusable_bytes;
}

}  // namespace

bool WasUsed(const DeviceFigures& device) {
  return device.peak_bytes > 0 || device.framework.peak_bytes > 0;
}

RunRow RunOf(const Source& source) {
  const Session& session = source.session;
  const RunInfo& run = session.run();
  RunRow row;
  row.identity = IdentityOf(run);
  row.host = run.hostname;
  row.program = ProgramOf(run);
  row.pid = run.pid;
  row.framework = FrameworkOf(source);
  row.allocator_settings = std::string(allocators::TorchConfigurationOf(run));
  row.expandable = ExpandableOf(session);
  row.memprof_version = run.recorder_version;
  row.start_unix = run.start_unix_ns;
  row.duration = run.end_time - std::min(run.end_time, StartOf(session));
  row.ended = EndOf(session);
  row.steps = static_cast<std::uint64_t>(source.clock.completed());
  row.steps_from = StepSourceName(session.step_origin().source);
  row.events = source.report.events.total;
  row.events_lost = source.report.events.lost;
  row.losses = LossList(session);
  if (session.self().events > 0 && session.self().hook_time_ns > 0)
    row.recorder_cost = session.self().hook_time_ns;
  if (const DeviceFigures* device = MainDevice(source.report)) AddDevice(source, *device, &row);
  const auto failures = FailuresOf(session);
  row.failures = static_cast<std::uint64_t>(
      std::ranges::count_if(*failures, [](const FailedRequest& one) { return !one.recovered; }));
  row.verdict = source.report.leaks.verdict;
  return row;
}

}  // namespace memprof::analysis::fleet
