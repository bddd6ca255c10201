// The figures of a run.
#include "analysis/report.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/timeline.h"

namespace memprof::analysis {
namespace {

EventTotals CountEvents(const Session& session) {
  EventTotals totals;
  const EventColumns& events = session.events();
  totals.total = events.size();
  std::uint64_t refused = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    switch (events.op[i]) {
      case Op::kAlloc:
        ++totals.allocations;
        ++totals.allocations_by_layer[static_cast<std::size_t>(events.layer[i]) % kLayerCount];
        break;
      case Op::kFree: {
        const AllocationId ended = events.allocation[i];
        const Layer layer = ended.valid() ? session.allocation(ended).layer : events.layer[i];
        ++totals.frees;
        ++totals.frees_by_layer[static_cast<std::size_t>(layer) % kLayerCount];
        break;
      }
      case Op::kAllocFailed:
        ++totals.failed;
        break;
      case Op::kFreeFailed:
        ++refused;
        break;
      default:
        break;
    }
  }
  totals.frees -= std::min(totals.frees, refused);
  for (const AnomalyCount& anomaly : session.anomalies()) {
    if (anomaly.anomaly == log::Anomaly::kEventsLost) totals.lost = anomaly.count;
    if (anomaly.anomaly == log::Anomaly::kUnmatchedFrees) totals.unmatched_frees = anomaly.count;
  }
  return totals;
}

std::uint64_t Last(const Series& series) { return series.empty() ? 0 : series.values().back(); }

// What the device had in use at its last memory sample, minus what the log explains.
std::uint64_t Untracked(const Session& session, const DeviceTimeline& timeline) {
  const EventColumns& events = session.events();
  for (std::size_t i = events.size(); i-- > 0;) {
    if (events.op[i] != Op::kMemoryInfo || events.device[i] != timeline.device) continue;
    if (events.bytes[i] > events.aux0[i]) return 0;  // more free than there is: not a sample
    const std::uint64_t used = events.aux0[i] - events.bytes[i];
    const std::uint64_t known = timeline.reserved.At(events.time[i]);
    return used > known ? used - known : 0;
  }
  return 0;
}

struct LiveCounts {
  std::map<int, std::uint64_t> device_blocks, framework_blocks;
  std::set<int> frameworks;
};

LiveCounts CountLive(const Session& session) {
  LiveCounts counts;
  for (const Allocation& a : session.allocations()) {
    if (a.layer == Layer::kBlock || a.layer == Layer::kSegment) counts.frameworks.insert(a.device);
    if (!a.alive()) continue;
    if (a.layer == Layer::kBlock) ++counts.framework_blocks[a.device];
    if (a.device != kNoDevice && OccupiesDevice(a.layer)) ++counts.device_blocks[a.device];
  }
  return counts;
}

DeviceFigures FiguresOf(const Session& session, const DeviceTimeline& timeline,
                        const LiveCounts& counts) {
  DeviceFigures figures;
  figures.info.id = timeline.device;
  for (const DeviceInfo& info : session.devices()) {
    if (info.id == timeline.device) figures.info = info;
  }
  const auto count = [&timeline](const std::map<int, std::uint64_t>& blocks) {
    const auto it = blocks.find(timeline.device);
    return it == blocks.end() ? 0 : it->second;
  };
  figures.peak_bytes = timeline.total.max();
  figures.live_bytes = Last(timeline.total);
  figures.live_blocks = count(counts.device_blocks);
  figures.reserved_bytes = Last(timeline.reserved) - Last(timeline.total);
  figures.untracked_bytes = Untracked(session, timeline);
  FrameworkFigures& framework = figures.framework;
  framework.seen = counts.frameworks.contains(timeline.device);
  framework.peak_bytes = timeline.framework_allocated.max();
  framework.live_bytes = Last(timeline.framework_allocated);
  framework.live_blocks = count(counts.framework_blocks);
  framework.reserved_bytes = Last(timeline.framework_reserved);
  framework.peak_reserved_bytes = timeline.framework_reserved.max();
  return figures;
}

}  // namespace

Report BuildReport(const Session& session) {
  Report report;
  report.events = CountEvents(session);
  report.steps = session.steps().size();
  const LiveCounts counts = CountLive(session);
  for (const DeviceTimeline& timeline : BuildTimelines(session)) {
    if (timeline.device != kNoDevice) {
      report.devices.push_back(FiguresOf(session, timeline, counts));
      continue;
    }
    const Series& pinned = timeline.layer[static_cast<int>(Layer::kPinned)];
    const Series& registered = timeline.layer[static_cast<int>(Layer::kRegistered)];
    report.host = {pinned.max(), Last(pinned), registered.max(), Last(registered)};
  }
  report.peaks = FindPeaks(session);
  report.leaks = FindLeaks(session);
  report.fragmentation = AnalyseFragmentation(session);
  return report;
}

}  // namespace memprof::analysis
