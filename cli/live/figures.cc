#include "cli/live/internal/figures.h"

#include <algorithm>
#include <array>

#include "analysis/categories/categories.h"
#include "analysis/leaks/clock.h"
#include "analysis/leaks/forecast.h"
#include "analysis/leaks/leaks.h"
#include "analysis/oom/oom.h"
#include "analysis/store/sampling_words.h"
#include "analysis/symbols/symbols.h"
#include "analysis/timeline/address_map.h"
#include "analysis/timeline/ledger.h"
#include "analysis/timeline/timeline.h"
#include "cli/console/text.h"
#include "cli/shared/names.h"

namespace memprof::cli {
namespace {

using analysis::DeviceTimeline;
using analysis::Session;
using analysis::TimeNs;

std::string CommandOf(const analysis::RunInfo& run) {
  std::string command;
  for (const std::string& argument : run.arguments)
    Append(command, command.empty() ? "" : " ", argument);
  if (command.empty()) command = run.executable;
  return command.empty() ? "(unknown program)" : command;
}

void AddRun(const Session& session, LiveProcess* process) {
  const analysis::RunInfo& run = session.run();
  process->path = session.path();
  process->command = CommandOf(run);
  process->host = run.hostname;
  process->pid = run.pid;
  process->rank = session.processes()[0].rank;
  process->state = run.growing    ? LiveState::kRunning
                   : run.complete ? LiveState::kEnded
                                  : LiveState::kKilled;
  process->end_reason = run.end_reason;
  process->start_unix_ns = run.start_unix_ns;
  process->last_event = process->judged = session.SinceStart(run.end_time);
  process->simulated = Simulated(session);
  process->sampling = SamplingWords(session, analysis::Drawn::kLeftOut);
  process->recorder_bytes = session.self().resident_bytes;
  process->recorder_cpu_ns = session.self().writer_cpu_ns + session.self().hook_time_ns;
  for (const analysis::AnomalyCount& count : session.anomalies()) {
    const AnomalyText text = DescribeAnomaly(count.anomaly);
    if (text.severity == "data loss" || text.severity == "error")
      process->losses.emplace_back(text.name, count.count);
  }
}

// The last step is the one that runs.
void AddSteps(const Session& session, LiveProcess* process) {
  const auto steps = session.StepsOf(0);
  if (steps.empty()) return;
  process->step = steps.back().number;
  process->steps = steps.size() - 1;
  std::vector<TimeNs> recent;
  for (const analysis::StepInfo& step : steps.last(std::min(kLiveRecentSteps + 1, steps.size())))
    recent.push_back(step.begin);
  process->steps_per_second = LiveStepRate(recent);
}

template <std::size_t N, typename Name>
std::vector<LivePart> Parts(const std::array<std::uint64_t, N>& bytes, Name name) {
  std::vector<LivePart> parts;
  for (std::size_t i = 0; i < N; ++i)
    if (bytes[i] > 0) parts.push_back(name(i, bytes[i]));
  std::stable_sort(parts.begin(), parts.end(),
                   [](const LivePart& a, const LivePart& b) { return a.bytes > b.bytes; });
  return parts;
}

class LiveFigures {
 public:
  LiveFigures(const std::shared_ptr<const Session>& session, analysis::Symbols& symbols)
      : session_(*session),
        samples_(analysis::SamplesOf(*session)),
        leaks_(analysis::LeaksOf(*session)),
        headrooms_(analysis::FindHeadroom(*session)),
        clock_(analysis::ClockForLeaks(*session, 0)),
        categories_(*session, &symbols),
        end_(session->run().end_time) {}

  LiveDevice Of(const DeviceTimeline& timeline, const LiveProcess& process) const {
    LiveDevice device{.device = timeline.device};
    for (const analysis::DeviceInfo& info : session_.devices())
      if (info.id == timeline.device) device.name = info.name;
    device.framework = !timeline.framework_allocated.empty();
    const analysis::Series& allocated =
        device.framework ? timeline.framework_allocated : timeline.total;
    device.allocated = allocated.At(end_);
    device.peak =
        HighestKnown(session_, timeline.device,
                     device.framework ? analysis::Layer::kBlock : analysis::Layer::kUnspecified,
                     allocated.max());
    device.reserved = timeline.reserved.At(end_);
    if (device.framework)
      device.largest_hole = BuildAddressMap(session_, timeline.device, end_).largest_hole;
    device.used = device.reserved;
    const auto ledger = LedgerAt(session_, samples_->Of(timeline.device), timeline, end_);
    if (ledger)
      device.used = ledger->known_bytes() + ledger->untracked_bytes -
                    std::min(ledger->elsewhere_bytes, ledger->known_bytes());
    AddGrowth(timeline, process, &device);
    AddParts(timeline, &device);
    AddCurve(allocated, &device);
    return device;
  }

 private:
  void AddGrowth(const DeviceTimeline& timeline, const LiveProcess& process,
                 LiveDevice* device) const {
    for (const analysis::Leak& leak : leaks_->leaks) {  // the worst tier first
      if (leak.device != timeline.device || leak.imported()) continue;
      device->growth += process.by_time ? leak.bytes_per_second : leak.bytes_per_step;
      if (device->growth_tier.empty()) device->growth_tier = LeakTierName(leak.tier);
    }
    for (const analysis::Headroom& headroom : headrooms_)
      if (headroom.device == timeline.device && headroom.total > 0) {
        device->capacity = headroom.total;
        device->headroom = static_cast<double>(headroom.lowest + headroom.reusable);
      }
    const double by_steps = HeadroomForLeaks(session_, clock_, timeline, *samples_,
                                             process.by_time ? 0 : device->growth);
    if (by_steps >= 0) device->headroom = by_steps;
    if (device->growth <= 0 || device->headroom < 0) return;
    const double left = analysis::StepsToOom(device->headroom, device->growth, clock_.completed());
    if (process.by_time) {
      device->seconds_to_oom = device->headroom / device->growth;
      return;
    }
    device->steps_to_oom = left;
    if (left >= 0 && process.steps_per_second > 0)
      device->seconds_to_oom = left / process.steps_per_second;
  }

  void AddParts(const DeviceTimeline& timeline, LiveDevice* device) const {
    if (session_.events().size() == 0) return;
    const analysis::EventId last(static_cast<std::uint32_t>(session_.events().size() - 1));
    device->categories =
        Parts(categories_.At(timeline.device, last).bytes, [](std::size_t i, std::uint64_t bytes) {
          const auto category = static_cast<analysis::Category>(i);
          return LivePart{std::string(CategoryName(category)), std::string(CategoryKey(category)),
                          bytes};
        });
    std::array<std::uint64_t, analysis::kLayerCount> layers{};
    for (std::size_t i = 0; i < layers.size(); ++i)
      if (OccupiesDevice(static_cast<analysis::Layer>(i))) layers[i] = timeline.layer[i].At(end_);
    device->layers = Parts(layers, [](std::size_t i, std::uint64_t bytes) {
      const std::string name(LayerName(static_cast<analysis::Layer>(i)));
      return LivePart{name, name, bytes};
    });
  }

  void AddCurve(const analysis::Series& series, LiveDevice* device) const {
    const TimeNs start = session_.run().start_time;
    device->curve_end = session_.SinceStart(end_) / kLiveSlot + 1;
    for (std::uint64_t slot = device->curve_end - std::min(device->curve_end, kLivePoints);
         slot < device->curve_end; ++slot) {
      const auto part = series.Between(start + slot * kLiveSlot,
                                       std::min(start + (slot + 1) * kLiveSlot, end_ + 1));
      device->curve.emplace_back(part.min, part.max);
    }
  }

  const Session& session_;
  std::shared_ptr<const analysis::MemorySamples> samples_;
  std::shared_ptr<const analysis::LeakReport> leaks_;
  std::vector<analysis::Headroom> headrooms_;
  analysis::StepClock clock_;
  analysis::Categories categories_;
  TimeNs end_;
};

void AddLeaks(const Session& session, analysis::Symbols& symbols, LiveProcess* process) {
  for (const analysis::Leak& leak : analysis::LeaksOf(session)->leaks)
    process->leaks.push_back({std::string(LeakTierName(leak.tier)), leak.device, leak.in_use,
                              process->by_time ? leak.bytes_per_second : leak.bytes_per_step,
                              leak.bytes, SiteLabel(symbols, leak.stack)});
}

void AddFailures(const Session& session, analysis::Symbols& symbols, LiveProcess* process) {
  constexpr TimeNs kSettled = 1'000'000'000;
  const auto describe = [&](const analysis::FailedRequest& request) {
    return LiveFailure{request.device, request.bytes,     session.SinceStart(request.time),
                       request.step,   request.recovered, SiteLabel(symbols, request.stack)};
  };
  const auto failures = analysis::FailuresOf(session);
  process->failures = failures->size();
  if (!failures->empty()) process->failure = describe(failures->back());
  const analysis::FailedRequest* last = nullptr;
  for (const analysis::FailedRequest& request : *failures) {
    if (request.recovered ||
        (process->state == LiveState::kRunning && request.time + kSettled > session.run().end_time))
      continue;
    ++process->ooms;
    last = &request;
  }
  if (last != nullptr) process->oom = describe(*last);
}

}  // namespace

LiveProcess FiguresOf(const std::shared_ptr<const Session>& session) {
  LiveProcess process;
  AddRun(*session, &process);
  AddSteps(*session, &process);
  const auto leaks = analysis::LeaksOf(*session);
  process.by_time = leaks->basis == analysis::LeakBasis::kTime;
  process.too_short = leaks->horizon_too_short;
  analysis::Symbols symbols(session);
  AddLeaks(*session, symbols, &process);
  AddFailures(*session, symbols, &process);
  const LiveFigures figures(session, symbols);
  for (const DeviceTimeline& timeline : *analysis::TimelinesOf(*session))
    if (timeline.device != analysis::kNoDevice &&
        (!timeline.total.empty() || !timeline.framework_allocated.empty()))
      process.devices.push_back(figures.Of(timeline, process));
  return process;
}

}  // namespace memprof::cli
