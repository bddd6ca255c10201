// Differences of random logs against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/diff/diff.h"
#include "analysis/peak/peak.h"
#include "analysis/peak/run_profile.h"
#include "tests/analysis/diff/diff_fixture.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::Diff;
using testing::Find;
using testing::RandomLog;
using testing::Recorded;

std::string Frames(Symbols& symbols, StackId stack) {
  std::string text;
  if (!stack.valid()) return text;
  for (const SourceFrame& frame : symbols.ResolveStack(stack))
    text += frame.function + ":" + std::to_string(frame.line) + "|";
  return text;
}

// The name of each stack's place, from the second run if it has the place.
std::map<std::string, std::string> PlaceNames(const Recorded& a, const Recorded& b) {
  std::map<std::string, std::string> names;
  for (const Recorded* run : {&b, &a})
    for (const Allocation& allocation : run->session->allocations()) {
      if (allocation.layer == Layer::kTensor) continue;
      const SourceFrame site =
          allocation.stack.valid() ? run->symbols->Site(allocation.stack) : SourceFrame();
      names.try_emplace(Frames(*run->symbols, allocation.stack),
                        site.function + ":" + std::to_string(site.line));
    }
  return names;
}

// Allocations that are not counted twice, with the name of their place.
std::vector<std::pair<Allocation, std::string>> Leaves(
    const Recorded& run, const std::map<std::string, std::string>& names) {
  std::set<std::uint32_t> suballocated;
  for (const Allocation& a : run.session->allocations())
    if (a.layer == Layer::kSegment || a.layer == Layer::kBlock) suballocated.insert(a.parent.value);
  std::vector<std::pair<Allocation, std::string>> leaves;
  std::uint32_t i = 0;
  for (const Allocation& a : run.session->allocations()) {
    const std::uint32_t id = i++;
    if (a.device == kNoDevice) continue;
    if (a.layer == Layer::kBlock || (OccupiesDevice(a.layer) && !suballocated.contains(id)))
      leaves.emplace_back(a, names.at(Frames(*run.symbols, a.stack)));
  }
  return leaves;
}

std::map<std::string, std::uint64_t> LiveBy(const Recorded& run,
                                            const std::map<std::string, std::string>& names,
                                            const std::map<int, EventId>& at) {
  std::map<std::string, std::uint64_t> live;
  for (const auto& [a, name] : Leaves(run, names)) {
    const auto event = at.find(a.device);
    if (event == at.end() || a.birth > event->second) continue;
    if (!a.death.valid() || a.death > event->second) live[name] += a.bytes;
  }
  return live;
}

std::map<int, EventId> PeakEvents(const Recorded& run) {
  std::map<int, EventId> events;
  for (const Peak& peak : FindPeaks(*run.session)) events[peak.device] = peak.event;
  return events;
}

TEST(DiffTest, RandomLogsAgainstPlainLoops) {
  for (const std::uint32_t seed : {701u, 702u, 703u}) {
    SCOPED_TRACE(seed);
    RandomLog first({.seed = seed}), second({.seed = seed + 50, .first_address = 0x400000000000});
    const Recorded a(first.builder()), b(second.builder());
    const auto names = PlaceNames(a, b);
    const auto before = LiveBy(a, names, PeakEvents(a)), after = LiveBy(b, names, PeakEvents(b));
    const DiffReport report = Diff(a, b);
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> expected, found;
    for (const auto& [name, bytes] : before) expected[name].first = bytes;
    for (const auto& [name, bytes] : after) expected[name].second = bytes;
    std::erase_if(expected, [](const auto& e) { return e.second.first == e.second.second; });
    std::uint64_t last = ~std::uint64_t{0};
    for (const DiffSite& site : report.sites) {
      EXPECT_LE(site.size(), last) << "largest change first";
      last = site.size();
      if (site.before == site.after) continue;
      const SourceFrame& frame = report.alignment.places[site.place].site;
      found[frame.function + ":" + std::to_string(frame.line)] = {site.before, site.after};
    }
    EXPECT_EQ(found, expected);
    for (const int device : {0, 1}) {
      std::uint64_t most = 0;
      for (const Peak& peak : FindPeaks(*b.session))
        if (peak.device == device) most = peak.bytes;
      EXPECT_EQ(Find(report, DiffFigureKind::kPeak, device)->after, static_cast<double>(most));
    }
  }
}

TEST(DiffTest, ARandomLogMovedAndRebuiltIsTheSame) {
  for (const std::uint32_t seed : {711u, 712u}) {
    RandomLog first({.seed = seed}),
        second({.seed = seed, .first_address = 0x100000000, .line_shift = 1000});
    const DiffReport report = Diff(Recorded(first.builder()), Recorded(second.builder()));
    EXPECT_TRUE(report.sites.empty());
    EXPECT_FALSE(report.first_difference);
  }
}

TEST(DiffTest, MomentsAgainstPlainLoops) {
  RandomLog log({.seed = 721});
  const Recorded run(log.builder());
  const auto names = PlaceNames(run, run);
  const auto events = static_cast<std::uint32_t>(run.session->events().size());
  for (std::uint32_t from = 3; from < events; from += events / 5) {
    const EventId to(events - 1 - from / 2);
    const DiffReport report = DiffMoments(*run.session, *run.symbols, EventId(from), to);
    const auto before = LiveBy(run, names, {{0, EventId(from)}, {1, EventId(from)}});
    const auto after = LiveBy(run, names, {{0, to}, {1, to}});
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> expected, found;
    for (const auto& [name, bytes] : before) expected[name].first = bytes;
    for (const auto& [name, bytes] : after) expected[name].second = bytes;
    std::erase_if(expected, [](const auto& e) { return e.second.first == e.second.second; });
    for (const DiffSite& site : report.sites) {
      const SourceFrame& frame = report.alignment.places[site.place].site;
      if (site.before != site.after)
        found[frame.function + ":" + std::to_string(frame.line)] = {site.before, site.after};
      EXPECT_EQ(site.fresh, site.before == 0 && site.after > 0);
    }
    EXPECT_EQ(found, expected);
  }
}

bool LivesAt(const Allocation& a, std::uint32_t event) {
  return a.birth.value <= event && (!a.death.valid() || a.death.value > event);
}

// The maximum of live bytes between two events, by place and by device.
struct PlainStep {
  PlainStep(const Session& session, const std::vector<std::pair<Allocation, std::string>>& leaves,
            std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t e = begin; e < end; ++e) {
      std::map<std::string, std::uint64_t> live;
      std::map<int, std::uint64_t> total;
      for (const auto& [a, name] : leaves)
        if (LivesAt(a, e)) live[name] += a.bytes;
      for (const Allocation& a : session.allocations())
        if (LivesAt(a, e) && OccupiesDevice(a.layer)) total[a.device] += a.bytes;
      for (const auto& [name, bytes] : live) most[name] = std::max(most[name], bytes);
      for (const auto& [device, bytes] : total) peak[device] = std::max(peak[device], bytes);
    }
  }
  std::map<std::string, std::uint64_t> most;
  std::map<int, std::uint64_t> peak;
};

// The largest rise or the largest fall between steady steps, whichever is smaller.
std::uint64_t PlainVariation(const std::vector<std::uint64_t>& values) {
  std::uint64_t rise = 0, fall = 0;
  for (std::size_t s = 2; s + 1 < values.size(); ++s) {
    if (values[s] > values[s - 1]) rise = std::max(rise, values[s] - values[s - 1]);
    if (values[s] < values[s - 1]) fall = std::max(fall, values[s - 1] - values[s]);
  }
  return std::min(rise, fall);
}

TEST(DiffTest, StepsAndVariationAgainstPlainLoops) {
  for (const std::uint32_t seed : {731u, 732u}) {
    SCOPED_TRACE(seed);
    RandomLog log({.seed = seed});
    const Recorded run(log.builder());
    const Session& session = *run.session;
    const StackAlignment alignment = AlignStacks(session, *run.symbols, session, *run.symbols);
    const RunProfile profile = ProfileRun(session, alignment.after, alignment.places.size());
    const auto leaves = Leaves(run, PlaceNames(run, run));
    const auto steps = session.steps();
    ASSERT_EQ(profile.steps.size(), steps.size());
    EXPECT_EQ(profile.steady_begin, 1u);
    EXPECT_EQ(profile.steady_end, steps.size() - 1);
    std::map<std::string, std::vector<std::uint64_t>> highest;
    std::map<std::string, double> traffic;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const std::uint32_t begin = steps[s].event.value;
      const std::uint32_t end = s + 1 < steps.size()
                                    ? steps[s + 1].event.value
                                    : static_cast<std::uint32_t>(session.events().size());
      const PlainStep plain(session, leaves, begin, end);
      std::uint64_t bytes = 0, count = 0;
      for (const auto& [a, name] : leaves) {
        if (a.birth.value < begin || a.birth.value >= end) continue;
        bytes += a.bytes;
        ++count;
        if (s >= 1 && s + 1 < steps.size()) traffic[name] += static_cast<double>(a.bytes);
      }
      for (const auto& [device, expected] : plain.peak)
        EXPECT_EQ(profile.steps[s].peak.at(device), expected) << s;
      EXPECT_EQ(profile.steps[s].bytes, bytes);
      EXPECT_EQ(profile.steps[s].allocations, count);
      for (const auto& [a, name] : leaves) highest[name].resize(s + 1);
      for (const auto& [name, value] : plain.most) highest[name][s] = value;
    }
    const double steady = static_cast<double>(steps.size() - 2);
    for (std::size_t row = 0; row < alignment.places.size(); ++row) {
      const SourceFrame& frame = alignment.places[row].site;
      const std::string name = frame.function + ":" + std::to_string(frame.line);
      EXPECT_EQ(profile.sites[row].variation.bytes(), PlainVariation(highest[name])) << name;
      EXPECT_DOUBLE_EQ(profile.sites[row].step_bytes, traffic[name] / steady) << name;
    }
  }
}

}  // namespace
}  // namespace memprof::analysis
