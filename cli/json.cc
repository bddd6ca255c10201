// Builds JSON objects.
#include "cli/json.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "cli/controls.h"
#include "cli/json_list.h"
#include "cli/largest.h"
#include "cli/names.h"
#include "cli/open_log.h"
#include "cli/terminal.h"
#include "cli/text.h"

namespace memprof::cli {
namespace {

using analysis::Allocation;
using analysis::AllocationId;
using analysis::Session;
using analysis::Symbols;

std::size_t Limit(std::size_t count, std::size_t top) {
  return top == 0 ? count : std::min(count, top);
}

// What the program said about managed memory or a module.
Json MarksJson(const Session& session, std::span<const analysis::EventId> marks) {
  const analysis::EventTable& events = session.events();
  Json list = Json::array();
  for (const analysis::EventId mark : marks) {
    const std::uint32_t e = mark.value;
    Json entry = {{"op", analysis::OpName(events.op(e))},
                  {"time_ns", events.time(e)},
                  {"address", Hex(events.address(e))},
                  {"bytes", events.bytes(e)}};
    const bool to_somewhere =
        events.op(e) == analysis::Op::kPrefetch || events.op(e) == analysis::Op::kAdvise;
    if (to_somewhere) entry["device"] = events.device(e);
    if (events.op(e) == analysis::Op::kAdvise) entry["advice"] = events.aux0(e);
    list.push_back(std::move(entry));
  }
  return list;
}

Json AllocationJson(const Session& session, AllocationId id) {
  const Allocation& a = session.allocation(id);
  Json json = {{"address", Hex(a.address)},
               {"bytes", a.bytes},
               {"layer", analysis::LayerName(a.layer)},
               {"birth_step", a.birth_step},
               {"birth_time_ns", a.birth_time}};
  if (const analysis::TensorInfo* tensor = session.tensor(a.tensor)) {
    json["name"] = tensor->name;
    json["dtype"] = tensor->dtype;
    json["shape"] = tensor->shape;
  }
  if (const auto marks = session.Marks(id); !marks.empty())
    json["marks"] = MarksJson(session, marks);
  return json;
}

Json HoleJson(const Session& session, const analysis::Hole& hole) {
  Json json = {{"address", Hex(hole.address)},
               {"bytes", hole.bytes},
               {"since_time_ns", hole.since},
               {"since_step", hole.since_step}};
  if (hole.before.valid()) json["before"] = Hex(session.record(hole.before).address);
  if (hole.after.valid()) json["after"] = Hex(session.record(hole.after).address);
  return json;
}

}  // namespace

Json Number(double value) {
  if (value == std::floor(value) && std::fabs(value) < 9e15) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

Json FrameJson(const analysis::SourceFrame& frame) {
  Json json = {{"function", frame.function},
               {"file", frame.file},
               {"line", frame.line},
               {"module", frame.module}};
  if (frame.inlined) json["inlined"] = true;
  return json;
}

Json StackJson(Symbols& symbols, analysis::StackId stack) {
  Json frames = Json::array();
  if (!stack.valid()) return frames;
  for (const analysis::SourceFrame& frame : symbols.ResolveStack(stack)) {
    frames.push_back(FrameJson(frame));
  }
  return frames;
}

namespace {

// `frames`: of the stack at most so many.
Json LeakJson(const Session& session, Symbols& symbols, const analysis::Leak& leak,
              std::size_t frames) {
  std::vector<analysis::FrameId> stack;
  if (leak.stack.valid()) stack = session.StackFrames(leak.stack);
  Json shown = Json::array();
  for (std::size_t i = 0; i < std::min(stack.size(), frames); ++i)
    for (const analysis::SourceFrame& frame : symbols.Resolve(stack[i]))
      shown.push_back(FrameJson(frame));
  Json survivors = Json::array();
  for (const analysis::BirthStep& step : leak.survivors) {
    survivors.push_back({{"step", step.step}, {"bytes", step.bytes}, {"blocks", step.blocks}});
  }
  Json json = {{"tier", analysis::LeakTierName(leak.tier)},
               {"basis", analysis::LeakBasisName(leak.basis)},
               {"score", Number(leak.score)},
               {"bytes", leak.bytes},
               {"blocks", leak.blocks},
               {"bytes_per_step", Number(leak.bytes_per_step)},
               {"bytes_per_second", Number(leak.bytes_per_second)},
               {"first_step", leak.first_step},
               {"process", leak.process},
               {"device", leak.device},
               {"layer", analysis::LayerName(leak.layer)},
               {"site", SiteLabel(symbols, leak.stack)},
               {"stack", std::move(shown)},
               {"why", leak.why},
               {"disproof", leak.disproof},
               {"steps_to_oom", Number(leak.steps_to_oom)},
               {"guard_steps", leak.guard_steps},
               {"survivors", std::move(survivors)}};
  if (leak.steps_needed > 0) json["steps_needed"] = leak.steps_needed;
  if (leak.stack.valid()) {
    const analysis::UserSite site = symbols.SiteOf(leak.stack);
    json["site_frame"] = FrameJson(site.user);
    if (site.in_library()) json["library_frame"] = FrameJson(site.library);
  }
  if (leak.imported() && leak.example.valid()) {
    const analysis::ImportKind kind = session.allocation(leak.example).import_kind;
    json["import"] = analysis::ImportKindName(kind);
  }
  if (leak.example.valid()) json["example"] = AllocationJson(session, leak.example);
  if (stack.size() > frames) json["stack_frames"] = stack.size();
  return json;
}

}  // namespace

Json LeaksJson(const Session& session, Symbols& symbols, std::span<const analysis::Leak> leaks) {
  // A log may have a hundred thousand sites, each at the end of the deepest stack there can be.
  constexpr std::size_t kFrames = 400'000, kFewest = 4;
  const std::size_t each = std::max(kFewest, kFrames / std::max<std::size_t>(1, leaks.size()));
  Json array = Json::array();
  for (const analysis::Leak& leak : leaks) array.push_back(LeakJson(session, symbols, leak, each));
  return array;
}

Json PeakJson(const Session& session, Symbols& symbols, const analysis::Peak& peak,
              std::size_t top) {
  Json layers = Json::object();
  for (std::size_t i = 0; i < peak.by_layer.size(); ++i) {
    if (peak.by_layer[i] == 0) continue;
    layers[std::string(analysis::LayerName(static_cast<analysis::Layer>(i)))] = peak.by_layer[i];
  }
  Json sites = Json::array();
  for (std::size_t i = 0; i < Limit(peak.sites.size(), top); ++i) {
    const analysis::Site& site = peak.sites[i];
    sites.push_back({{"bytes", site.bytes},
                     {"blocks", site.blocks},
                     {"site", SiteLabel(symbols, site.stack)},
                     {"stack", StackJson(symbols, site.stack)}});
  }
  const auto list = [&](const std::vector<AllocationId>& ids) {
    Json array = Json::array();
    for (std::size_t i = 0; i < Limit(ids.size(), top); ++i) {
      Json entry = AllocationJson(session, ids[i]);
      entry["site"] = SiteLabel(symbols, session.allocation(ids[i]).stack);
      array.push_back(std::move(entry));
    }
    return array;
  };
  return {{"device", peak.device},
          {"bytes", peak.bytes},
          {"time_ns", peak.time},
          {"step", peak.step},
          {"by_layer", std::move(layers)},
          {"sites", std::move(sites)},
          {"sites_total", peak.sites.size()},
          {"tensors", list(peak.tensors)},
          {"tensors_total", peak.tensors.size()},
          {"blocks", list(peak.blocks)},
          {"blocks_total", peak.blocks.size()}};
}

Json FragmentationJson(const Session& session, Symbols& symbols,
                       const analysis::FragmentationReport& report) {
  Json pools = Json::array();
  const auto listed = Largest(report.pools, [](const auto& pool) { return pool.reserved_bytes; });
  for (const analysis::PoolFragmentation* one : listed) {
    const analysis::PoolFragmentation& pool = *one;
    Json pins = Json::array();
    for (const analysis::Pin& pin : pool.pins) {
      Json entry = AllocationJson(session, pin.block);
      entry["frees_bytes"] = pin.frees_bytes;
      entry["blame"] = Number(pin.blame);
      entry["empties_segment"] = pin.empties_segment;
      entry["unused_since_ns"] = pin.unused_since;
      if (const analysis::TensorInfo* tensor = session.tensor(pin.tensor))
        entry["tensor"] = tensor->name;
      entry["site"] = SiteLabel(symbols, session.allocation(pin.block).stack);
      entry["stack"] = StackJson(symbols, session.allocation(pin.block).stack);
      pins.push_back(std::move(entry));
    }
    Json holes = Json::array();
    for (const analysis::Hole& hole : pool.holes) holes.push_back(HoleJson(session, hole));
    pools.push_back({{"device", pool.device},
                     {"stream", Hex(pool.stream)},
                     {"private_pool", Hex(pool.private_pool)},
                     {"small_blocks", pool.small_blocks},
                     {"segments", pool.segments},
                     {"blocks", pool.blocks},
                     {"reserved_bytes", pool.reserved_bytes},
                     {"allocated_bytes", pool.allocated_bytes},
                     {"free_bytes", pool.free_bytes},
                     {"largest_hole_bytes", pool.largest_hole},
                     {"rounding_bytes", pool.rounding_bytes},
                     {"releasable_bytes", pool.releasable_bytes},
                     {"unusable_bytes", pool.unusable_bytes},
                     {"external", Number(pool.external)},
                     {"sum_of_squares", Number(pool.sum_of_squares)},
                     {"request_relative", Number(pool.request_relative)},
                     {"pinned_bytes", pool.pinned_bytes},
                     {"hole_count", pool.hole_count},
                     {"holes", std::move(holes)},
                     {"pins", std::move(pins)}});
  }
  return {{"time_ns", report.time},
          {"step", report.step},
          {"utilisation", Number(report.utilisation)},
          {"at_peak", Number(report.at_peak)},
          {"pools", std::move(pools)},
          {"pools_left_out", report.pools.size() - listed.size()}};
}

namespace {

Json ProcessesJson(const Session& session) {
  Json processes = Json::array();
  for (const analysis::ProcessInfo& process : session.processes()) {
    Json entry = {{"log", process.path},
                  {"pid", process.run.pid},
                  {"hostname", process.run.hostname},
                  {"complete", process.run.complete},
                  {"clock_shift_ns", process.clock_shift_ns},
                  {"run", process.run_number}};
    if (process.rank >= 0) entry["rank"] = process.rank;
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
          {"processes", ProcessesJson(session)}};
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
  return json;
}

}  // namespace

Json LedgerJson(const analysis::DeviceLedger& ledger) {
  Json json = {{"samples", ledger.samples}};
  if (ledger.last) json["last"] = LedgerEntryJson(*ledger.last);
  if (!ledger.highest) return json;
  json["highest"] = LedgerEntryJson(*ledger.highest);
  json["highest_time_ns"] = ledger.highest->sample.time;
  json["highest_sample_time_ns"] = ledger.highest_sample_time;
  return json;
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

namespace {

std::string Text(const Json& json) {
  return EscapeControls(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

int PrintJson(const Json& json) { return WriteOut(Text(json) + "\n") ? kExitFine : kExitFailed; }

int PrintJsonList(const Json& head, std::string_view key, std::size_t rows,
                  const std::function<Json(std::size_t)>& row) {
  constexpr std::size_t kFlushBytes = 1 << 18;
  if (rows == 0) {
    Json whole = head;
    whole[std::string(key)] = Json::array();
    return PrintJson(whole);
  }
  std::string text = Text(head);
  text.resize(text.size() - 2);  // "\n}"
  Append(text, ",\n  \"", key, "\": [");
  for (std::size_t i = 0; i < rows; ++i) {
    text += i == 0 ? "\n    " : ",\n    ";
    for (const char c : Text(row(i))) {
      text += c;
      if (c == '\n') text += "    ";  // strings have none
    }
    if (text.size() < kFlushBytes) continue;
    if (!WriteOut(text)) return kExitFailed;
    text.clear();
  }
  return WriteOut(text + "\n  ]\n}\n") ? kExitFine : kExitFailed;
}

}  // namespace memprof::cli
