// The figures of a run that budgets use.
#include <algorithm>

#include "analysis/fragmentation/fragmentation.h"
#include "analysis/oom/oom.h"
#include "analysis/store/sampling.h"
#include "analysis/timeline/timeline.h"
#include "cli/fail_on/conditions.h"

namespace memprof::cli {
namespace {

using analysis::DeviceTimeline;
using analysis::LeakReport;
using analysis::LeakTier;

void AddLeaks(const LeakReport& report, Figures& figures) {
  std::map<int, double> growth;
  std::map<Metric, double> tiers = {
      {Metric::kDefinite, 0}, {Metric::kSuspected, 0}, {Metric::kGrowing, 0}};
  for (const analysis::Leak& leak : report.leaks) {
    growth[leak.device] += leak.bytes_per_step;
    if (leak.tier <= LeakTier::kDefinite) ++tiers[Metric::kDefinite];
    if (leak.tier <= LeakTier::kSuspected) ++tiers[Metric::kSuspected];
    if (leak.tier <= LeakTier::kGrowing) ++tiers[Metric::kGrowing];
  }
  for (const auto& [device, bytes] : growth) figures[Metric::kGrowth].push_back({device, bytes});
  for (const auto& [metric, count] : tiers) figures[metric].push_back({analysis::kNoDevice, count});
}

void AddTimelines(const analysis::Session& session, Figures& figures) {
  const auto timelines = analysis::TimelinesOf(session);
  for (const DeviceTimeline& timeline : *timelines) {
    if (timeline.device == analysis::kNoDevice) continue;
    const auto add = [&](Metric metric, std::uint64_t bytes) {
      figures[metric].push_back({timeline.device, static_cast<double>(bytes)});
    };
    const auto highest = [&](analysis::Layer layer, const analysis::Series& series) {
      return analysis::HighestKnown(session, timeline.device, layer, series.max());
    };
    add(Metric::kPeak, highest(analysis::Layer::kUnspecified, timeline.total));
    add(Metric::kReserved, timeline.framework_reserved.empty()
                               ? timeline.reserved.max()
                               : highest(analysis::Layer::kSegment, timeline.framework_reserved));
    add(Metric::kLiveAtEnd, timeline.total.At(analysis::kForever));
  }
}

}  // namespace

Figures CollectFigures(const analysis::Session& session, const Budget& budget,
                       const LeakReport* leaks) {
  const auto needs = [&budget](std::initializer_list<Metric> metrics) {
    return std::any_of(metrics.begin(), metrics.end(),
                       [&budget](Metric metric) { return budget.Needs(metric); });
  };
  Figures figures;
  if (needs({Metric::kGrowth, Metric::kDefinite, Metric::kSuspected, Metric::kGrowing}))
    AddLeaks(leaks != nullptr ? *leaks : *analysis::LeaksOf(session), figures);
  if (needs({Metric::kPeak, Metric::kReserved, Metric::kLiveAtEnd})) AddTimelines(session, figures);
  if (needs({Metric::kFragmentation}))
    figures[Metric::kFragmentation].push_back(
        {analysis::kNoDevice, 100 * analysis::FragmentationOf(session)->at_peak});
  if (needs({Metric::kFailed})) {
    const auto failures = *analysis::FailuresOf(session);
    figures[Metric::kFailed].push_back(
        {analysis::kNoDevice,
         static_cast<double>(std::count_if(failures.begin(), failures.end(),
                                           [](const auto& f) { return !f.recovered; }))});
  }
  if (needs({Metric::kHeadroom}))
    for (const analysis::Headroom& room : analysis::FindHeadroom(session))
      if (room.total > 0)
        figures[Metric::kHeadroom].push_back({room.device, static_cast<double>(room.lowest)});
  return figures;
}

}  // namespace memprof::cli
