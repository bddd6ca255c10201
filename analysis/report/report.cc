// The figures of a run.
#include "analysis/report/report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/store/sampling.h"
#include "analysis/timeline/timeline.h"

namespace memprof::analysis {
namespace {

// All events and allocations of thinned stretches are counted; those of each layer are estimated.
void AddLeftOut(const Session& session, EventTotals* totals) {
  const auto sampling = SamplingOf(session);
  const std::uint64_t drawn = sampling->drawn.size();
  totals->total += sampling->events_left_out + drawn;  // with their frees
  totals->allocations += sampling->allocations_left_out + drawn;
  totals->frees += sampling->allocations_left_out + drawn;
  std::array<SampledSum, kLayerCount> layers;
  for (const EventId id : sampling->drawn) {
    const DrawnBlock block = DrawnAt(session, id);
    layers[static_cast<std::size_t>(block.layer) % kLayerCount].AddDrawn(block.weight, 1);
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto count = static_cast<std::uint64_t>(std::llround(layers[i].value));
    totals->allocations_by_layer[i] += count;
    totals->frees_by_layer[i] += count;
  }
}

EventTotals CountEvents(const Session& session) {
  EventTotals totals;
  const EventTable& events = session.events();
  totals.total = events.size();
  std::uint64_t refused = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    switch (events.op(i)) {
      case Op::kAlloc:
        if (session.IsListedAgain(EventId(static_cast<std::uint32_t>(i)))) break;
        ++totals.allocations;
        ++totals.allocations_by_layer[static_cast<std::size_t>(events.layer(i)) % kLayerCount];
        break;
      case Op::kFree: {
        const AllocationId ended = events.allocation(i);
        const Layer layer = ended.valid() ? session.record(ended).layer : events.layer(i);
        ++totals.frees;
        ++totals.frees_by_layer[static_cast<std::size_t>(layer) % kLayerCount];
        break;
      }
      case Op::kAllocFailed:
        ++totals.failed;
        break;
      case Op::kFreeFailed:
        if (events.layer(i) != Layer::kModule) ++refused;  // its end is no free
        break;
      case Op::kHostScan:
        ++totals.host_scans;
        totals.last_scan_bytes = events.bytes(i);
        break;
      default:
        break;
    }
  }
  totals.frees -= std::min(totals.frees, refused);
  AddLeftOut(session, &totals);
  for (const AnomalyCount& anomaly : session.anomalies()) {
    if (anomaly.anomaly == log::Anomaly::kEventsLost) totals.lost = anomaly.count;
    if (anomaly.anomaly == log::Anomaly::kUnmatchedFrees) totals.unmatched_frees = anomaly.count;
  }
  return totals;
}

std::uint64_t Last(const Series& series) { return series.empty() ? 0 : series.values().back(); }

struct LiveCounts {
  std::map<int, std::uint64_t> device_blocks, framework_blocks;
  std::set<int> frameworks;
};

LiveCounts CountLive(const Session& session) {
  LiveCounts counts;
  for (const AllocationRecord& a : session.records()) {
    if (a.layer == Layer::kBlock || a.layer == Layer::kSegment) counts.frameworks.insert(a.device);
    if (!a.alive()) continue;
    if (a.layer == Layer::kBlock) ++counts.framework_blocks[a.device];
    if (a.device != kNoDevice && OccupiesDevice(a.layer)) ++counts.device_blocks[a.device];
  }
  return counts;
}

DeviceFigures FiguresOf(const Session& session, const DeviceTimeline& timeline,
                        const LiveCounts& counts, const DeviceLedger& ledger) {
  DeviceFigures figures;
  figures.info.id = timeline.device;
  for (const DeviceInfo& info : session.devices()) {
    if (info.id == timeline.device) figures.info = info;
  }
  const auto count = [&timeline](const std::map<int, std::uint64_t>& blocks) {
    const auto it = blocks.find(timeline.device);
    return it == blocks.end() ? 0 : it->second;
  };
  const auto highest = [&](Layer layer, const Series& series) {
    return HighestKnown(session, timeline.device, layer, series.max());
  };
  figures.peak_bytes = highest(Layer::kUnspecified, timeline.total);
  figures.live_bytes = Last(timeline.total);
  figures.live_blocks = count(counts.device_blocks);
  figures.reserved_bytes = Last(timeline.reserved) - Last(timeline.total);
  figures.ledger = ledger;
  figures.untracked_bytes = ledger.last ? ledger.last->untracked_bytes : 0;
  FrameworkFigures& framework = figures.framework;
  framework.seen = counts.frameworks.contains(timeline.device);
  framework.peak_bytes = highest(Layer::kBlock, timeline.framework_allocated);
  framework.live_bytes = Last(timeline.framework_allocated);
  framework.live_blocks = count(counts.framework_blocks);
  framework.reserved_bytes = Last(timeline.framework_reserved);
  framework.peak_reserved_bytes = highest(Layer::kSegment, timeline.framework_reserved);
  figures.device_peak_bytes =
      std::max({figures.peak_bytes, timeline.reserved.max(), framework.peak_reserved_bytes,
                ledger.highest ? ledger.highest->sample.used_bytes() : 0});
  return figures;
}

}  // namespace

namespace {

// What was there before has the time that the loader gave it.
void CountBefore(const Session& session, Report* report) {
  std::uint64_t bytes[2] = {}, count[2] = {};  // of the driver, of frameworks
  std::set<std::uint32_t> goes_on;             // processes of which an earlier segment is here
  for (const ProcessInfo& process : session.processes()) goes_on.insert(process.next_segment);
  for (const AllocationRecord& record : session.records()) {
    const bool block = record.layer == Layer::kBlock;
    if (!block && record.layer != Layer::kLinear) continue;
    if (!session.WasThereBefore(record.birth) || goes_on.contains(session.ProcessOf(record.birth)))
      continue;
    bytes[block] += record.bytes;
    ++count[block];
  }
  report->before_attach_bytes = bytes[count[1] > 0];
  report->before_attach_blocks = count[count[1] > 0];
}

}  // namespace

Report BuildReport(const Session& session) {
  Report report;
  report.events = CountEvents(session);
  const auto begins_late = [](const ProcessInfo& process) {
    return process.run.before_attach != 0;
  };
  if (std::any_of(session.processes().begin(), session.processes().end(), begins_late))
    CountBefore(session, &report);
  report.steps = session.steps().size();
  report.peaks = *PeaksOf(session);
  const LiveCounts counts = CountLive(session);
  const auto samples = SamplesOf(session);
  const auto timelines = TimelinesOf(session);
  for (const DeviceTimeline& timeline : *timelines) {
    if (timeline.device != kNoDevice) {
      const std::vector<MemorySample>& of_device = samples->Of(timeline.device);
      report.devices.push_back(
          FiguresOf(session, timeline, counts,
                    BuildLedger(session, of_device, timeline,
                                FindHighestUse(session, of_device, timeline.device))));
      continue;
    }
    const Series& pinned = timeline.layer[static_cast<int>(Layer::kPinned)];
    const Series& registered = timeline.layer[static_cast<int>(Layer::kRegistered)];
    report.host = {pinned.max(), Last(pinned), registered.max(), Last(registered)};
  }
  report.leaks = *LeaksOf(session);
  report.fragmentation = *FragmentationOf(session);
  return report;
}

}  // namespace memprof::analysis
