// Parts of the JSON of memprof report.
#include "cli/report/internal/report_json.h"

#include "cli/shared/names.h"

namespace memprof::cli {
namespace {

using analysis::Session;

Json ProcessListJson(const Session& session) {
  Json processes = Json::array();
  for (const analysis::ProcessInfo& process : session.processes()) {
    Json entry = {{"log", process.path},
                  {"pid", process.run.pid},
                  {"hostname", process.run.hostname},
                  {"complete", process.run.complete},
                  {"clock_shift_ns", process.clock_shift_ns},
                  {"run", process.run_number}};
    if (process.rank >= 0) entry["rank"] = process.rank;
    if (process.next_segment != analysis::EventId::kNone)
      entry["next_segment"] = process.next_segment;
    processes.push_back(std::move(entry));
  }
  return processes;
}

}  // namespace

Json RunJson(const Session& session) {
  const analysis::RunInfo& run = session.run();
  return {{"executable", run.executable},
          {"arguments", run.arguments},
          {"working_directory", run.working_directory},
          {"environment", run.environment},
          {"hostname", run.hostname},
          {"pid", run.pid},
          {"start_time_ns", StartTime(session)},
          {"end_time_ns", run.end_time},
          {"start_unix_ns", run.start_unix_ns},
          {"end_reason", run.end_reason},
          {"growing", run.growing},
          {"recorder_version", run.recorder_version},
          {"processes", ProcessListJson(session)}};
}

Json SourcesOnJson(const Session& session) {
  Json sources = Json::array();
  for (const analysis::SourceInfo& source : session.sources()) {
    if (SourceWasOn(source.state)) sources.push_back(source.name);
  }
  return sources;
}

Json SourceStatesJson(const Session& session) {
  Json sources = Json::array();
  for (const analysis::SourceInfo& source : session.sources()) {
    sources.push_back({{"name", source.name},
                       {"state", SourceStateName(source.state)},
                       {"detail", source.detail}});
  }
  return sources;
}

Json AnomaliesJson(const std::vector<analysis::AnomalyCount>& anomalies) {
  Json list = Json::array();
  for (const analysis::AnomalyCount& anomaly : anomalies) {
    const AnomalyText text = DescribeAnomaly(anomaly.anomaly);
    list.push_back({{"name", text.name},
                    {"count", anomaly.count},
                    {"severity", text.severity},
                    {"advice", text.advice}});
  }
  return list;
}

namespace {

Json LedgerEntryJson(const analysis::LedgerEntry& entry) {
  Json layers = Json::object();
  for (std::size_t i = 0; i < entry.by_layer.size(); ++i) {
    if (entry.by_layer[i] == 0) continue;
    layers[std::string(analysis::LayerName(static_cast<analysis::Layer>(i)))] = entry.by_layer[i];
  }
  const analysis::MemorySample& sample = entry.sample;
  Json json = {{"time_ns", sample.time},
               {"step", entry.step},
               {"total_bytes", sample.total_bytes},
               {"free_bytes", sample.free_bytes},
               {"used_bytes", sample.used_bytes()},
               {"by_layer", std::move(layers)},
               {"pools_bytes", entry.pools_bytes},
               {"untracked_bytes", entry.untracked_bytes},
               {"elsewhere_bytes", entry.elsewhere_bytes}};
  if (sample.others_bytes) json["other_processes_bytes"] = *sample.others_bytes;
  if (entry.file_cache_bytes) json["file_cache_bytes"] = *entry.file_cache_bytes;
  return json;
}

Json LedgerJson(const analysis::DeviceLedger& ledger) {
  Json json = {{"samples", ledger.samples}};
  if (ledger.last) json["last"] = LedgerEntryJson(*ledger.last);
  if (!ledger.highest) return json;
  json["highest"] = LedgerEntryJson(*ledger.highest);
  json["highest_time_ns"] = ledger.highest->sample.time;
  json["highest_sample_time_ns"] = ledger.highest_sample_time;
  return json;
}

}  // namespace

Json EstimatesJson(const analysis::DeviceEstimates& estimates) {
  Json parts = Json::array();
  for (const analysis::Estimate& part : estimates.parts) {
    parts.push_back({{"kind", EstimateName(part.kind)}, {"bytes", part.bytes}});
    if (part.error_bytes) parts.back()["error_bytes"] = *part.error_bytes;
  }
  return {{"parts", std::move(parts)},
          {"peak_bytes", estimates.peak_bytes},
          {"peak_error_bytes", estimates.peak_error_bytes},
          {"capacity_bytes", estimates.capacity_bytes},
          {"fit", FitName(estimates.fit)}};
}

Json DeviceJson(const analysis::DeviceFigures& device) {
  Json json = {{"id", device.info.id},
               {"name", device.info.name},
               {"capacity_bytes", device.info.capacity_bytes},
               {"peak_bytes", device.peak_bytes},
               {"device_peak_bytes", device.device_peak_bytes},
               {"live_bytes", device.live_bytes},
               {"live_blocks", device.live_blocks},
               {"reserved_bytes", device.reserved_bytes},
               {"untracked_bytes", device.untracked_bytes},
               {"simulated", device.info.simulated},
               {"uses_system_memory", device.info.uses_system_memory},
               {"ledger", LedgerJson(device.ledger)}};
  if (device.framework.seen) {
    json["framework"] = {{"peak_bytes", device.framework.peak_bytes},
                         {"live_bytes", device.framework.live_bytes},
                         {"live_blocks", device.framework.live_blocks},
                         {"reserved_bytes", device.framework.reserved_bytes},
                         {"peak_reserved_bytes", device.framework.peak_reserved_bytes}};
  }
  return json;
}

Json SelfJson(const Session& session) {
  const analysis::SelfAccounting& self = session.self();
  const auto count = [&session](log::Anomaly anomaly) -> std::uint64_t {
    for (const analysis::AnomalyCount& counted : session.anomalies())
      if (counted.anomaly == anomaly) return counted.count;
    return 0;
  };
  const double per_event =
      self.events == 0 ? 0
                       : static_cast<double>(self.hook_time_ns) / static_cast<double>(self.events);
  return {{"events", self.events},
          {"events_written", self.events_written},
          {"bytes_written", self.bytes_written},
          {"hook_time_ns", self.hook_time_ns},
          {"hook_ns_per_event", Number(per_event)},
          {"writer_cpu_ns", self.writer_cpu_ns},
          {"resident_bytes", self.resident_bytes},
          {"stacks", self.stacks},
          {"events_lost", count(log::Anomaly::kEventsLost)},
          {"definitions_lost", count(log::Anomaly::kDefinitionsLost)}};
}

}  // namespace memprof::cli
