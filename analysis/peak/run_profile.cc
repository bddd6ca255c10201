// One pass over the lifetimes of a run.
#include "analysis/peak/run_profile.h"

#include <algorithm>

#include "analysis/peak/stack_alignment.h"
#include "analysis/store/lifetime_walk.h"
#include "analysis/store/sampling.h"

namespace memprof::analysis {
namespace {

class Profiler {
 public:
  Profiler(const Session& session, const std::vector<std::uint32_t>& rows, std::size_t sites)
      : session_(session), rows_(rows), leaf_(session), states_(sites) {
    profile_.sites.resize(sites);
    const auto steps = session.steps();
    const auto sampling = SamplingOf(session);
    for (const StepInfo& step : steps)
      profile_.steps.push_back({.number = step.number,
                                .time = step.end > step.begin ? step.end - step.begin : 0,
                                .whole = sampling->IsWhole(step)});
    profile_.steady_end = steps.size();
    std::vector<std::size_t> whole;
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (profile_.steps[i].whole) whole.push_back(i);
    // Of few whole steps in a long run, the first one is warm-up too.
    if (whole.size() >= 4 || (whole.size() == 3 && steps.size() > 3)) {
      profile_.steady_begin = whole[std::max<std::size_t>(1, whole.size() / 10)];
      --profile_.steady_end;
    }
  }

  void Birth(EventId event, AllocationId id) { Change(event, id, true); }
  void Death(EventId event, AllocationId id) { Change(event, id, false); }
  void After(EventId) {
    for (const int device : changed_) {
      std::uint64_t& peak = profile_.steps[now_].peak[device];
      peak = std::max(peak, total_[device]);
    }
    changed_.clear();
  }

  RunProfile Finish() {
    // Steps in which nothing changed for a device, or for a site.
    if (!profile_.steps.empty()) Enter(profile_.steps.size() - 1);
    double steady = 0;
    for (std::size_t i = profile_.steady_begin; i < profile_.steady_end; ++i) steady += Steady(i);
    for (std::size_t row = 0; row < states_.size(); ++row) {
      SiteProfile& site = profile_.sites[row];
      if (!profile_.steps.empty()) Flush(row, profile_.steps.size());
      if (profile_.steps.empty()) {
        site.step_bytes = static_cast<double>(site.bytes);
        site.step_count = static_cast<double>(site.count);
      } else if (steady > 0) {
        site.step_bytes /= steady;
        site.step_count /= steady;
      }
    }
    return std::move(profile_);
  }

 private:
  struct State {
    std::uint64_t live = 0, highest = 0;
    std::uint64_t last = 0;  // highest of the last completed step
    std::size_t step = 0;    // the step of `highest`
    bool has_last = false;
  };

  bool Steady(std::size_t step) const { return profile_.Steady(step); }

  // Moves on to `step`; memory that is live when a step begins counts in it.
  void Enter(std::size_t step) {
    while (!begun_ || now_ < step) {
      now_ = begun_ ? now_ + 1 : 0;
      begun_ = true;
      for (const auto& [device, bytes] : total_) profile_.steps[now_].peak[device] = bytes;
    }
  }

  // Closes all steps of a site before `step`.
  void Flush(std::size_t row, std::size_t step) {
    State& state = states_[row];
    for (; state.step < step; ++state.step) {
      if (Steady(state.step)) {
        if (state.has_last) profile_.sites[row].variation.Add(state.last, state.highest);
        state.last = state.highest;
        state.has_last = true;
      }
      state.highest = state.live;
      // Without a change, all steps up to `step` are like this one.
      if (Steady(state.step) && state.last == state.live) state.step = step - 1;
    }
  }

  void Change(EventId event, AllocationId id, bool birth) {
    const auto steps = session_.steps();
    while (next_ < steps.size() && steps[next_].event <= event) Enter(next_++);
    const AllocationRecord& a = session_.record(id);
    if (a.device != kNoDevice && OccupiesDevice(a.layer)) {
      std::uint64_t& total = total_[a.device];
      total = birth ? total + a.bytes : total - a.bytes;
      if (begun_) changed_.push_back(a.device);
    }
    if (!leaf_.Counts(id)) return;
    const std::uint32_t row = StackAlignment::Of(rows_, a.stack);
    if (row == StackAlignment::kNone) return;
    State& state = states_[row];
    if (begun_) Flush(row, now_);
    state.live = birth ? state.live + a.bytes : state.live - a.bytes;
    state.highest = begun_ ? std::max(state.highest, state.live) : state.live;
    if (!birth) return;
    SiteProfile& site = profile_.sites[row];
    site.bytes += a.bytes;
    ++site.count;
    if (!begun_) return;
    profile_.steps[now_].bytes += a.bytes;
    ++profile_.steps[now_].allocations;
    if (!Steady(now_)) return;
    site.step_bytes += static_cast<double>(a.bytes);
    ++site.step_count;
  }

  const Session& session_;
  const std::vector<std::uint32_t>& rows_;
  const LeafMemory leaf_;
  std::vector<State> states_;
  RunProfile profile_;
  std::map<int, std::uint64_t> total_;
  std::vector<int> changed_;
  std::size_t next_ = 0;  // the next step mark
  std::size_t now_ = 0;
  bool begun_ = false;  // the first step has begun
};

}  // namespace

LeafMemory::LeafMemory(const Session& session)
    : session_(session), suballocated_(session.records().size(), false) {
  for (const AllocationRecord& a : session.records())
    if (IsFrameworkLayer(a.layer) && a.layer != Layer::kTensor && a.parent.valid())
      suballocated_[a.parent.value] = true;
}

RunProfile ProfileRun(const Session& session, const std::vector<std::uint32_t>& rows,
                      std::size_t sites) {
  Profiler profiler(session, rows, sites);
  WalkLifetimes(session, profiler);
  return profiler.Finish();
}

}  // namespace memprof::analysis
