// Comparisons: alignment by hand, figures and sites against plain loops on random logs.
#include "analysis/diff/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/peak/peak.h"
#include "analysis/peak/run_profile.h"
#include "analysis/testing/column.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;

constexpr std::uint64_t kKiB = 1024;

struct Recorded {
  std::shared_ptr<const Session> session;
  std::unique_ptr<Symbols> symbols;

  explicit Recorded(const LogBuilder& log)
      : session(LoadLog(log)), symbols(std::make_unique<Symbols>(session)) {}
};

DiffReport Diff(const Recorded& a, const Recorded& b, DiffMoment moment = DiffMoment::kPeak) {
  return DiffRuns(*a.session, *a.symbols, *b.session, *b.symbols, moment);
}

const DiffFigure* Find(const DiffReport& report, DiffFigureKind kind, int device = kNoDevice) {
  for (const DiffFigure& figure : report.figures)
    if (figure.kind == kind && figure.device == device) return &figure;
  return nullptr;
}

const DiffSite* Find(const DiffReport& report, const std::string& function) {
  for (const DiffSite& site : report.sites)
    if (report.alignment.places[site.place].site.function == function) return &site;
  return nullptr;
}

// A log with `steps` steps, each of which allocates at these stacks and frees again; what `keeps`
// is for is kept.
struct Program {
  std::vector<std::vector<std::string>> stacks;
  std::vector<std::uint64_t> bytes;
  std::set<std::size_t> keeps;
  int steps = 8;
  std::uint64_t base = 0x700000000000, tick = 1000;
};

Recorded Execute(const Program& program) {
  LogBuilder log;
  log.Device(0, std::uint64_t{1} << 30);
  std::vector<int> stacks;
  for (const auto& stack : program.stacks) stacks.push_back(log.Stack(stack));
  std::uint64_t next = program.base;
  for (int step = 0; step < program.steps; ++step) {
    log.AdvanceTime(program.tick);
    log.Step(static_cast<std::uint64_t>(step));
    std::vector<std::uint64_t> freed;
    for (std::size_t i = 0; i < stacks.size(); ++i) {
      log.Alloc(Layer::kLinear, next, program.bytes[i], {.stack = stacks[i]});
      if (!program.keeps.contains(i)) freed.push_back(next);
      next += 0x100000;
    }
    for (const std::uint64_t address : freed) log.Free(address);
  }
  return Recorded(log);
}

TEST(DiffTest, TheSameProgramElsewhereInMemoryAndTime) {
  Program program{{{"main (a.cc:1)", "F (a.cc:2)"}, {"main (a.cc:1)", "G (a.cc:3)"}},
                  {10 * kKiB, 20 * kKiB}};
  const Recorded a = Execute(program);
  program.base = 0x500000;
  program.tick = 777;
  std::swap(program.stacks[0], program.stacks[1]);
  std::swap(program.bytes[0], program.bytes[1]);
  const DiffReport report = Diff(a, Execute(program));
  EXPECT_TRUE(report.sites.empty());
  EXPECT_FALSE(report.first_difference);
  EXPECT_EQ(report.steps.size(), 8u);
  EXPECT_EQ(Find(report, DiffFigureKind::kPeak, 0)->change(), 0);
}

TEST(DiffTest, LinesThatMovedAlign) {
  Program program{{{"main (a.cc:1)", "F (a.cc:2)"}, {"main (a.cc:1)", "F (a.cc:8)"}},
                  {10 * kKiB, 20 * kKiB}};
  const Recorded a = Execute(program);
  // In the other order, too.
  program.stacks = {{"main (a.cc:5)", "F (a.cc:12)"}, {"main (a.cc:5)", "F (a.cc:6)"}};
  program.bytes = {50 * kKiB, 10 * kKiB};
  const DiffReport report = Diff(a, Execute(program));
  ASSERT_EQ(report.sites.size(), 1u);  // the first call of F is as it was
  EXPECT_EQ(report.sites[0].before, 20 * kKiB);
  EXPECT_EQ(report.sites[0].after, 50 * kKiB);
  EXPECT_FALSE(report.sites[0].fresh || report.sites[0].gone);
  const AlignedPlace& place = report.alignment.places[report.sites[0].place];
  EXPECT_EQ(place.match, MatchKind::kFunctions);
  EXPECT_EQ(place.site.line, 12);
}

TEST(DiffTest, AFrameInBetweenIsFolded) {
  Program program{{{"main (a.cc:1)", "F (a.cc:2)"}}, {10 * kKiB}};
  const Recorded a = Execute(program);
  program.stacks = {{"main (a.cc:1)", "Wrapper (a.cc:9)", "F (a.cc:2)"}};
  program.bytes = {12 * kKiB};
  const DiffReport report = Diff(a, Execute(program));
  ASSERT_EQ(report.sites.size(), 1u);
  EXPECT_EQ(report.sites[0].before, 10 * kKiB);
  EXPECT_EQ(report.sites[0].after, 12 * kKiB);
  EXPECT_EQ(report.alignment.places[report.sites[0].place].match, MatchKind::kFolded);
}

TEST(DiffTest, NewAndGoneSites) {
  Program program{{{"main (a.cc:1)", "F (a.cc:2)"}, {"main (a.cc:1)", "Old (a.cc:3)"}},
                  {10 * kKiB, 20 * kKiB}};
  const Recorded a = Execute(program);
  program.stacks = {{"main (a.cc:1)", "F (a.cc:2)"},
                    {"main (a.cc:1)", "F (a.cc:2)", "New (b.cc:1)"}};
  program.bytes[1] = 5 * kKiB;
  const DiffReport report = Diff(a, Execute(program));
  ASSERT_NE(Find(report, "Old"), nullptr);
  EXPECT_TRUE(Find(report, "Old")->gone);
  ASSERT_NE(Find(report, "New"), nullptr);
  EXPECT_TRUE(Find(report, "New")->fresh);
  EXPECT_EQ(Find(report, "F"), nullptr);
}

TEST(DiffTest, SitesWithAnotherNameAreNotFolded) {
  Program program{{{"main (a.cc:1)", "Old (a.cc:2)"}}, {10 * kKiB}};
  const Recorded a = Execute(program);
  program.stacks = {{"main (a.cc:1)", "New (a.cc:2)"}};
  const DiffReport report = Diff(a, Execute(program));
  ASSERT_EQ(report.sites.size(), 2u);
  EXPECT_TRUE(Find(report, "Old")->gone);
  EXPECT_TRUE(Find(report, "New")->fresh);
}

TEST(DiffTest, GrowthOfLeaks) {
  Program program{{{"main (a.cc:1)", "F (a.cc:2)"}, {"main (a.cc:1)", "Keep (a.cc:3)"}},
                  {10 * kKiB, 2 * kKiB},
                  {},
                  40};
  const Recorded a = Execute(program);
  program.keeps = {1};
  const DiffReport report = Diff(a, Execute(program));
  const DiffFigure* growth = Find(report, DiffFigureKind::kGrowth);
  ASSERT_NE(growth, nullptr);
  EXPECT_EQ(growth->before, 0);
  EXPECT_NEAR(growth->after, 2 * kKiB, 1);
  ASSERT_NE(Find(report, "Keep"), nullptr);
  EXPECT_NEAR(Find(report, "Keep")->after_growth, 2 * kKiB, 1);
  // What only grows does not vary.
  EXPECT_FALSE(Find(report, "Keep")->within_variation());
  EXPECT_EQ(Find(report, "Keep")->variation, 0u);
}

TEST(DiffTest, WhatStepsOfOneRunDifferByIsNoChange) {
  const auto run = [](std::uint64_t last) {
    LogBuilder log;
    log.Device(0, 1 << 30);
    const int site = log.Stack({"main (a.cc:1)", "Batch (a.cc:2)"});
    for (std::uint64_t step = 0; step < 10; ++step) {
      log.Step(step);
      const std::uint64_t bytes = step == 9 ? kKiB : step == 5 ? last : (10 + step % 3) * kKiB;
      log.Alloc(Layer::kLinear, 0x1000000 * (step + 1), bytes, {.stack = site});
      log.Free(0x1000000 * (step + 1));
    }
    return Recorded(log);
  };
  const DiffReport small = Diff(run(13 * kKiB), run(14 * kKiB));
  ASSERT_EQ(small.sites.size(), 1u);
  EXPECT_TRUE(small.sites[0].within_variation());
  EXPECT_TRUE(Find(small, DiffFigureKind::kPeak, 0)->within_variation());
  EXPECT_FALSE(small.first_difference);
}

TEST(DiffTest, TheFirstStepThatDiffers) {
  const auto run = [](std::uint64_t from) {
    LogBuilder log;
    log.Device(0, 1 << 30);
    for (std::uint64_t step = 0; step < 10; ++step) {
      log.Step(step);
      log.Alloc(Layer::kLinear, 0x1000, (step >= from ? 8 : 1) * kKiB);
      log.Free(0x1000);
    }
    return Recorded(log);
  };
  const DiffReport report = Diff(run(99), run(0));
  ASSERT_TRUE(report.first_difference);
  EXPECT_EQ(report.steps[*report.first_difference].after, 0);
  EXPECT_EQ(report.steps[*report.first_difference].before_peak, kKiB);
  EXPECT_EQ(report.steps[*report.first_difference].after_peak, 8 * kKiB);
}

TEST(DiffTest, StepsWithoutCommonNumbersAlignByRank) {
  const auto run = [](std::uint64_t first) {
    LogBuilder log;
    log.Device(0, 1 << 30);
    for (std::uint64_t step = 0; step < 5; ++step) {
      log.Step(first + step);
      log.Alloc(Layer::kLinear, 0x1000, kKiB * (step + 1));
      log.Free(0x1000);
    }
    return Recorded(log);
  };
  const DiffReport report = Diff(run(0), run(100));
  ASSERT_EQ(report.steps.size(), 5u);
  EXPECT_EQ(report.steps[2].before, 2);
  EXPECT_EQ(report.steps[2].after, 102);
  EXPECT_EQ(report.steps[2].before_peak, report.steps[2].after_peak);
}

TEST(DiffTest, WhatWasBeforeTheFirstStepIsOfNoStep) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x1000, 100 * kKiB);
  log.Free(0x1000);
  for (std::uint64_t step = 0; step < 3; ++step) {
    log.Step(step);
    log.Alloc(Layer::kLinear, 0x1000, step == 2 ? 50 * kKiB : kKiB);
    log.Free(0x1000);
  }
  const Recorded run(log);
  const StackAlignment rows = AlignStacks(*run.session, *run.symbols, *run.session, *run.symbols);
  const RunProfile profile = ProfileRun(*run.session, rows.after, rows.places.size());
  ASSERT_EQ(profile.sites.size(), 1u);
  EXPECT_EQ(profile.sites[0].variation.bytes(), 0u);  // it only rose
  EXPECT_EQ(profile.steps[0].peak.at(0), kKiB);
}

TEST(DiffTest, LogsWithoutStepsOrAnything) {
  LogBuilder nothing, plain;
  plain.Alloc(Layer::kLinear, 0x1000, kKiB);
  const Recorded empty(nothing), some(plain);
  EXPECT_TRUE(Diff(empty, empty).sites.empty());
  const DiffReport report = Diff(empty, some);
  ASSERT_EQ(report.sites.size(), 1u);
  EXPECT_TRUE(report.sites[0].fresh);
  EXPECT_EQ(report.sites[0].after, kKiB);
  EXPECT_EQ(DiffMoments(*empty.session, *empty.symbols, EventId(), EventId()).sites.size(), 0u);
}

// Plain loops.

std::string Frames(Symbols& symbols, StackId stack) {
  std::string text;
  if (!stack.valid()) return text;
  for (const SourceFrame& frame : symbols.ResolveStack(stack))
    text += frame.function + ":" + std::to_string(frame.line) + "|";
  return text;
}

// The name of each stack's place: as the second run has it, if it does.
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

// Allocations that count once, with the name of their place.
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

TEST(DiffTest, StepsAndVariationAgainstPlainLoops) {
  for (const std::uint32_t seed : {731u, 732u}) {
    SCOPED_TRACE(seed);
    RandomLog log({.seed = seed});
    const Recorded run(log.builder());
    const Session& session = *run.session;
    const StackAlignment alignment = AlignStacks(session, *run.symbols, session, *run.symbols);
    const RunProfile profile = ProfileRun(session, alignment.after, alignment.places.size());
    const auto names = PlaceNames(run, run);
    const auto leaves = Leaves(run, names);
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
      std::map<std::string, std::uint64_t> most;
      std::map<int, std::uint64_t> peak;
      for (std::uint32_t e = begin; e < end; ++e) {
        std::map<std::string, std::uint64_t> live;
        std::map<int, std::uint64_t> total;
        for (const auto& [a, name] : leaves)
          if (a.birth.value <= e && (!a.death.valid() || a.death.value > e)) live[name] += a.bytes;
        for (const Allocation& a : session.allocations())
          if (a.birth.value <= e && (!a.death.valid() || a.death.value > e) &&
              OccupiesDevice(a.layer))
            total[a.device] += a.bytes;
        for (const auto& [name, bytes] : live) most[name] = std::max(most[name], bytes);
        for (const auto& [device, bytes] : total) peak[device] = std::max(peak[device], bytes);
      }
      std::uint64_t bytes = 0, count = 0;
      for (const auto& [a, name] : leaves) {
        if (a.birth.value < begin || a.birth.value >= end) continue;
        bytes += a.bytes;
        ++count;
        if (s >= 1 && s + 1 < steps.size()) traffic[name] += static_cast<double>(a.bytes);
      }
      for (const auto& [device, expected] : peak)
        EXPECT_EQ(profile.steps[s].peak.at(device), expected) << s;
      EXPECT_EQ(profile.steps[s].bytes, bytes);
      EXPECT_EQ(profile.steps[s].allocations, count);
      for (const auto& [a, name] : leaves) highest[name].resize(s + 1);
      for (const auto& [name, value] : most) highest[name][s] = value;
    }
    const double steady = static_cast<double>(steps.size() - 2);
    for (std::size_t row = 0; row < alignment.places.size(); ++row) {
      const SourceFrame& frame = alignment.places[row].site;
      const std::string name = frame.function + ":" + std::to_string(frame.line);
      const std::vector<std::uint64_t>& values = highest[name];
      std::uint64_t rise = 0, fall = 0;
      for (std::size_t s = 2; s + 1 < values.size(); ++s) {
        if (values[s] > values[s - 1]) rise = std::max(rise, values[s] - values[s - 1]);
        if (values[s] < values[s - 1]) fall = std::max(fall, values[s - 1] - values[s]);
      }
      EXPECT_EQ(profile.sites[row].variation.bytes(), std::min(rise, fall)) << name;
      EXPECT_DOUBLE_EQ(profile.sites[row].step_bytes, traffic[name] / steady) << name;
    }
  }
}

}  // namespace
}  // namespace memprof::analysis
