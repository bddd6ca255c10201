// Compares figures, call sites and steps.
#include "analysis/diff/diff.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/diff/internal/parts.h"
#include "analysis/fragmentation/fragmentation.h"
#include "analysis/leaks/leaks.h"
#include "analysis/peak/run_profile.h"
#include "analysis/store/sampling.h"
#include "analysis/timeline/timeline.h"

namespace memprof::analysis {
namespace {

// One side of a comparison.
struct Side {
  const Session& session;
  const std::vector<std::uint32_t>& rows;
  const AllocationSet* passing;
  RunProfile profile;
  std::shared_ptr<const DeviceTimelines> timelines;
  LeafMemory leaf;

  Side(const Session& s, const std::vector<std::uint32_t>& r, std::size_t sites,
       const AllocationSet* p)
      : session(s),
        rows(r),
        passing(p),
        profile(ProfileRun(s, r, sites)),
        timelines(TimelinesOf(s)),
        leaf(s) {}

  const DeviceTimeline* Timeline(int device) const {
    for (const DeviceTimeline& timeline : *timelines)
      if (timeline.device == device) return &timeline;
    return nullptr;
  }
};

LiveByPlace LiveOf(const Side& side, DiffMoment moment, std::size_t sites) {
  LiveByPlace live(sites);
  const auto ids =
      moment == DiffMoment::kPeak
          ? CountedAtPeaks(side.session, side.leaf, side.passing)
          : CountedAfter(side.session, side.leaf, LastEvent(side.session), kNoDevice, side.passing);
  for (const AllocationId id : ids) {
    const AllocationRecord& a = side.session.record(id);
    const std::uint32_t row = StackAlignment::Of(side.rows, a.stack);
    if (row != StackAlignment::kNone) live.Add(row, a.bytes);
  }
  return live;
}

// Growth by row, and in all.
std::vector<double> GrowthOf(const Side& side, std::size_t sites, double* sum) {
  std::vector<double> growth(sites);
  const auto leaks = LeaksOf(side.session);
  for (const Leak& leak : leaks->leaks) {
    *sum += leak.bytes_per_step;
    const std::uint32_t row = StackAlignment::Of(side.rows, leak.stack);
    if (row != StackAlignment::kNone) growth[row] += leak.bytes_per_step;
  }
  return growth;
}

// The quartiles of a figure over the steady steps: 0.25, 0.5, 0.75; nearest ranks.
template <typename Of>
std::array<double, 3> Quartiles(const RunProfile& profile, Of of) {
  std::vector<double> values;
  for (std::size_t i = profile.steady_begin; i < profile.steady_end; ++i)
    if (profile.Steady(i)) values.push_back(static_cast<double>(of(profile.steps[i])));
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto at = [&values](double q) {
    return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
  };
  return {at(0.25), at(0.5), at(0.75)};
}

template <typename Of>
void AddMedian(const Side& before, const Side& after, DiffFigureKind kind, Of of,
               std::vector<DiffFigure>& figures) {
  if (!before.profile.HasSteady() || !after.profile.HasSteady()) return;
  const auto a = Quartiles(before.profile, of), b = Quartiles(after.profile, of);
  if (a[2] == 0 && b[2] == 0) return;
  figures.push_back({kind, kNoDevice, a[1], b[1], std::max(a[2] - a[0], b[2] - b[0])});
}

double Held(const Side& side, int device) {
  const DeviceTimeline* timeline = side.Timeline(device);
  if (timeline == nullptr) return 0;
  if (timeline->framework_reserved.empty()) return static_cast<double>(timeline->reserved.max());
  return static_cast<double>(
      HighestKnown(side.session, device, Layer::kSegment, timeline->framework_reserved.max()));
}

double HighestOf(const Side& side, int device) {
  const DeviceTimeline* timeline = side.Timeline(device);
  if (timeline == nullptr) return 0;
  return static_cast<double>(
      HighestKnown(side.session, device, Layer::kUnspecified, timeline->total.max()));
}

std::set<int> DevicesOf(const Side& before, const Side& after) {
  std::set<int> devices;
  for (const Side* side : {&before, &after})
    for (const DeviceTimeline& timeline : *side->timelines)
      if (timeline.device != kNoDevice) devices.insert(timeline.device);
  return devices;
}

void AddRunFigures(const Side& before, const Side& after, std::vector<DiffFigure>& figures) {
  for (const int device : DevicesOf(before, after)) {
    const DeviceTimeline *a = before.Timeline(device), *b = after.Timeline(device);
    const auto peak = [device](const StepProfile& step) { return PeakIn(step, device); };
    const double variation =
        std::max(VariationOf(before.profile, peak), VariationOf(after.profile, peak));
    const auto end = [](const DeviceTimeline* t) {
      return t == nullptr ? 0.0 : static_cast<double>(t->total.At(kForever));
    };
    figures.push_back({DiffFigureKind::kPeak, device, HighestOf(before, device),
                       HighestOf(after, device), variation});
    figures.push_back(
        {DiffFigureKind::kReserved, device, Held(before, device), Held(after, device), variation});
    figures.push_back({DiffFigureKind::kLive, device, end(a), end(b), variation});
  }
  figures.push_back({DiffFigureKind::kFragmentation, kNoDevice,
                     100 * FragmentationOf(before.session)->at_peak,
                     100 * FragmentationOf(after.session)->at_peak, 0});
}

void AddStepFigures(const Side& before, const Side& after, std::vector<DiffFigure>& figures) {
  AddMedian(
      before, after, DiffFigureKind::kStepTime, [](const StepProfile& step) { return step.time; },
      figures);
  AddMedian(
      before, after, DiffFigureKind::kStepBytes, [](const StepProfile& step) { return step.bytes; },
      figures);
  AddMedian(
      before, after, DiffFigureKind::kStepCount,
      [](const StepProfile& step) { return step.allocations; }, figures);
  const auto steps = [](const Side& side) {
    return static_cast<double>(side.profile.steps.size());
  };
  if (steps(before) + steps(after) > 0)
    figures.push_back({DiffFigureKind::kSteps, kNoDevice, steps(before), steps(after), 0});
}

std::uint64_t SumOfPeaks(const StepProfile& step) {
  std::uint64_t sum = 0;
  for (const auto& [device, bytes] : step.peak) sum += bytes;
  return sum;
}

std::vector<DiffStep> AlignSteps(const RunProfile& before, const RunProfile& after) {
  std::vector<DiffStep> steps;
  const auto add = [&steps](const StepProfile& a, const StepProfile& b) {
    if (a.whole && b.whole)
      steps.push_back({a.number, b.number, SumOfPeaks(a), SumOfPeaks(b), a.time, b.time});
  };
  std::map<std::int64_t, const StepProfile*> by_number;
  for (const StepProfile& step : after.steps) by_number.emplace(step.number, &step);
  for (const StepProfile& step : before.steps)
    if (const auto at = by_number.find(step.number); at != by_number.end()) add(step, *at->second);
  if (!steps.empty()) return steps;
  for (std::size_t i = 0; i < std::min(before.steps.size(), after.steps.size()); ++i)
    add(before.steps[i], after.steps[i]);
  return steps;
}

}  // namespace

std::uint64_t PeakIn(const StepProfile& step, int device) {
  const auto at = step.peak.find(device);
  return at == step.peak.end() ? 0 : at->second;
}

std::vector<DiffSite> CompareSites(const RunProfile& before, const LiveByPlace& before_live,
                                   const RunProfile& after, const LiveByPlace& after_live) {
  std::vector<DiffSite> sites;
  for (std::uint32_t row = 0; row < before.sites.size(); ++row) {
    const SiteProfile &a = before.sites[row], &b = after.sites[row];
    DiffSite site{.place = row, .before = before_live.bytes[row], .after = after_live.bytes[row]};
    site.before_count = before_live.count[row];
    site.after_count = after_live.count[row];
    site.before_step = a.step_bytes;
    site.after_step = b.step_bytes;
    site.variation = std::max(a.variation.bytes(), b.variation.bytes());
    site.fresh = a.count == 0;
    site.gone = b.count == 0;
    sites.push_back(site);
  }
  return sites;
}

void SortSites(std::vector<DiffSite>& sites, bool filtered) {
  std::erase_if(sites, [filtered](const DiffSite& s) {
    if (filtered && s.before_count == 0 && s.after_count == 0) return true;
    return s.before == s.after && s.before_count == s.after_count &&
           s.before_step == s.after_step && s.before_growth == s.after_growth && !s.fresh &&
           !s.gone;
  });
  std::stable_sort(sites.begin(), sites.end(), [](const DiffSite& a, const DiffSite& b) {
    if (a.size() != b.size()) return a.size() > b.size();
    return std::abs(a.after_step - a.before_step) > std::abs(b.after_step - b.before_step);
  });
}

std::string_view DiffFigureName(DiffFigureKind kind) {
  static constexpr std::string_view kNames[] = {"peak",          "reserved",   "live",
                                                "fragmentation", "growth",     "step_time",
                                                "step_bytes",    "step_count", "steps"};
  return kNames[static_cast<std::size_t>(kind)];
}

DiffReport DiffRuns(const Session& before, Symbols& before_symbols, const Session& after,
                    Symbols& after_symbols, DiffMoment moment, const DiffOptions& options) {
  DiffReport report;
  // Reports progress; false after a request to stop.
  const auto on = [&options](double share) {
    if (options.progress) options.progress(share);
    return !options.stop.stop_requested();
  };
  if (!on(0)) return report;
  report.alignment = AlignStacks(before, before_symbols, after, after_symbols);
  if (!on(0.2)) return report;
  const std::size_t count = report.alignment.places.size();
  const Side a(before, report.alignment.before, count, options.before);
  if (!on(0.4)) return report;
  const Side b(after, report.alignment.after, count, options.after);
  if (!on(0.6)) return report;
  AddRunFigures(a, b, report.figures);
  double before_sum = 0, after_sum = 0;
  const std::vector<double> before_growth = GrowthOf(a, count, &before_sum);
  if (!on(0.7)) return report;
  const std::vector<double> after_growth = GrowthOf(b, count, &after_sum);
  if (!on(0.8)) return report;
  report.figures.push_back({DiffFigureKind::kGrowth, kNoDevice, before_sum, after_sum, 0});
  AddStepFigures(a, b, report.figures);
  report.sites =
      CompareSites(a.profile, LiveOf(a, moment, count), b.profile, LiveOf(b, moment, count));
  const bool steady = a.profile.HasSteady() && b.profile.HasSteady();
  for (DiffSite& site : report.sites) {
    if (!steady) site.before_step = site.after_step = 0;
    site.before_growth = before_growth[site.place];
    site.after_growth = after_growth[site.place];
    // What only lived shortly may be left out of a log that is always on.
    site.fresh &= SamplingOf(before)->stretches.empty();
    site.gone &= SamplingOf(after)->stretches.empty();
  }
  SortSites(report.sites, options.before != nullptr || options.after != nullptr);
  report.steps = AlignSteps(a.profile, b.profile);
  const double variation =
      std::max(VariationOf(a.profile, SumOfPeaks), VariationOf(b.profile, SumOfPeaks));
  for (std::size_t i = 0; i < report.steps.size() && !report.first_difference; ++i) {
    const double change = std::abs(static_cast<double>(report.steps[i].after_peak) -
                                   static_cast<double>(report.steps[i].before_peak));
    if (change > variation) report.first_difference = i;
  }
  return report;
}

}  // namespace memprof::analysis
