// Collects stretches, counted levels and drawn blocks from the events.
#include "analysis/store/sampling.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace memprof::analysis {
namespace {

CountedLevel LevelAt(const EventTable& events, std::size_t i) {
  return {.device = events.device(i),
          .layer = events.layer(i),
          .highest = events.bytes(i),
          .at_end = events.aux0(i),
          .allocations = events.aux1(i),
          .bytes = events.address(i)};
}

// Of each device and layer.
using Levels = std::map<std::pair<int, Layer>, CountedLevel>;

void AddLevel(const CountedLevel& level, Levels* all) {
  CountedLevel& known =
      all->try_emplace({level.device, level.layer}, CountedLevel{level.device, level.layer})
          .first->second;
  known.highest = std::max(known.highest, level.highest);
  known.at_end = level.at_end;
  known.allocations += level.allocations;
  known.bytes += level.bytes;
}

void CollectEvents(const Session& session, Sampling* sampling) {
  const EventTable& events = session.events();
  std::map<std::uint32_t, std::vector<CountedLevel>> before_end;  // by process
  Levels levels;
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    const EventId id(i);
    switch (events.op(i)) {
      case Op::kSampled:
        sampling->drawn.push_back(id);
        break;
      case Op::kLevel:
        before_end[session.ProcessOf(id)].push_back(LevelAt(events, i));
        AddLevel(LevelAt(events, i), &levels);
        break;
      case Op::kThinned: {
        const std::uint32_t process = session.ProcessOf(id);
        sampling->events_left_out += events.bytes(i);
        sampling->allocations_left_out += events.aux1(i);
        sampling->stretches.push_back({.begin = events.aux0(i),
                                       .end = events.time(i),
                                       .process = process,
                                       .events_left_out = events.bytes(i),
                                       .allocations_left_out = events.aux1(i),
                                       .levels = std::exchange(before_end[process], {})});
        break;
      }
      default:
        break;
    }
  }
  for (const auto& [key, level] : levels) sampling->highest.push_back(level);
  std::stable_sort(sampling->stretches.begin(), sampling->stretches.end(),
                   [](const Stretch& a, const Stretch& b) { return a.process < b.process; });
}

// A recording counts on in steps that it does not keep.
void CountSteps(const Session& session, Sampling* sampling) {
  const auto steps = session.steps();
  for (const StepInfo& step : steps) sampling->whole_steps += sampling->IsWhole(step);
  sampling->all_steps = steps.size();
  const bool rising = std::is_sorted(
      steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  if (steps.empty() || !rising || session.step_origin().source != StepSource::kMarks) return;
  const std::uint64_t numbers = static_cast<std::uint64_t>(steps.back().number) -
                                static_cast<std::uint64_t>(steps.front().number) + 1;
  sampling->all_steps = std::max(sampling->all_steps, numbers);
}

Sampling Collect(const Session& session) {
  Sampling sampling;
  for (const ProcessInfo& process : session.processes()) {
    if (process.run.always_on.budget_bytes == 0 || sampling.always_on) continue;
    sampling.recording = process.run.always_on;
    sampling.always_on = true;
  }
  const EventTable& events = session.events();
  const bool thinned = events.Has(Op::kThinned) || events.Has(Op::kSampled);
  sampling.always_on |= thinned;
  if (thinned) CollectEvents(session, &sampling);
  if (sampling.always_on) CountSteps(session, &sampling);
  return sampling;
}

}  // namespace

double SampledSum::plus_minus() const { return 2 * std::sqrt(variance); }

bool Sampling::IsWhole(TimeNs begin, TimeNs end, std::uint32_t process) const {
  // A step may begin at the instant at which a stretch ends.
  const auto at = std::upper_bound(stretches.begin(), stretches.end(), std::tuple(process, begin),
                                   [](const auto& from, const Stretch& stretch) {
                                     return from < std::tuple(stretch.process, stretch.end);
                                   });
  return at == stretches.end() || at->process != process || at->begin >= std::max(end, begin + 1);
}

bool Sampling::IsWhole(const StepInfo& step) const {
  if (stretches.empty()) return true;
  for (std::uint32_t p = 0; p <= stretches.back().process; ++p)
    if (!IsWhole(step.begin, step.end, p)) return false;
  return true;
}

TimeNs Sampling::thinned_time() const {
  TimeNs time = 0;
  for (const Stretch& stretch : stretches) time += stretch.end - stretch.begin;
  return time;
}

const CountedLevel* Sampling::Highest(int device, Layer layer) const {
  for (const CountedLevel& level : highest)
    if (level.device == device && level.layer == layer) return &level;
  return nullptr;
}

std::shared_ptr<const Sampling> SamplingOf(const Session& session) {
  return session.facts().Get<Sampling>([&] { return Collect(session); });
}

DrawnBlock DrawnAt(const Session& session, EventId event) {
  const EventTable& events = session.events();
  const std::uint32_t i = event.value;
  const TimeNs begin = events.time(i), lived = events.aux1(i);
  return {.event = event,
          .device = events.device(i),
          .layer = events.layer(i),
          .bytes = events.bytes(i),
          .requested = events.aux0(i) != 0 ? events.aux0(i) : events.bytes(i),
          .stack = events.stack(i),
          .begin = begin,
          .end = lived > kForever - begin ? kForever : begin + lived,
          .weight = static_cast<double>(events.result(i)) / kWeightOfOne};
}

std::uint64_t HighestKnown(const Session& session, int device, Layer layer, std::uint64_t found) {
  const CountedLevel* counted = SamplingOf(session)->Highest(device, layer);
  return counted == nullptr ? found : std::max(found, counted->highest);
}

Traffic SampledTraffic(const Session& session) {
  Traffic traffic;
  for (const EventId id : SamplingOf(session)->drawn) {
    const DrawnBlock block = DrawnAt(session, id);
    traffic.count.AddDrawn(block.weight, 1);
    traffic.bytes.AddDrawn(block.weight, static_cast<double>(block.bytes));
  }
  return traffic;
}

}  // namespace memprof::analysis
