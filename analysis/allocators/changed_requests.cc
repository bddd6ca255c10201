// Edits traces and replays them.
#include "analysis/allocators/changed_requests.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "analysis/allocators/allocator_replay.h"
#include "analysis/allocators/internal/requests.h"

namespace memprof::analysis {
namespace {

using allocators::RecordedRun;
using allocators::RequestSource;
using allocators::Trace;
using allocators::TraceEvent;
using allocators::TraceOp;

constexpr std::size_t kMostEvents = 4'000'000;  // of a trace: each replay takes about a second

// The begins and ends of added requests, in order of events; at one event, ends first.
struct Step {
  std::uint32_t event = 0;
  bool begins = false;
  std::uint32_t block = 0;
};

std::vector<Step> StepsOf(const RequestChanges& changes, Trace* trace) {
  std::vector<Step> steps;
  for (const RequestChanges::Added& added : changes.added) {
    if (added.bytes == 0 || !added.begin.valid() || added.end <= added.begin) continue;
    const auto block = static_cast<std::uint32_t>(trace->blocks.size());
    trace->blocks.push_back({.bytes = added.bytes});
    steps.push_back({added.begin.value, true, block});
    if (added.end.valid()) steps.push_back({added.end.value, false, block});
  }
  std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
    return a.event != b.event ? a.event < b.event : a.begins < b.begins;
  });
  return steps;
}

}  // namespace

Trace ChangedTrace(const RecordedRun& run, const RequestChanges& changes) {
  Trace trace;
  trace.blocks = run.trace.blocks;
  trace.releases = run.trace.releases;
  trace.outside = run.trace.outside;
  const std::vector<Step> steps = StepsOf(changes, &trace);
  std::size_t next = 0;
  // An end comes before what happens at its event, a begin after that.
  const auto add_until = [&](std::uint32_t row) {
    for (; next < steps.size() &&
           (steps[next].event < row || (steps[next].event == row && !steps[next].begins));
         ++next)
      trace.events.push_back(
          {steps[next].begins ? TraceOp::kAllocate : TraceOp::kFree, steps[next].block});
  };
  allocators::TraceRows::Cursor rows(run.trace.rows);
  std::uint32_t row = 0;
  for (std::size_t i = 0; i < run.trace.events.size(); ++i) {
    const TraceEvent event = run.trace.events[i];
    add_until(row = rows.At(i));
    if (event.op == TraceOp::kHeld) continue;  // its blocks are requested one by one
    const bool of_block = event.op == TraceOp::kAllocate || event.op == TraceOp::kFree;
    if (of_block &&
        std::binary_search(changes.gone.begin(), changes.gone.end(), run.requests[event.number]))
      continue;
    trace.events.push_back(event);
  }
  add_until(row + 1);
  return trace;
}

std::unique_ptr<const ReservedReplay> ReservedReplay::Of(const Session& session, int device,
                                                         std::uint32_t process) {
  std::vector<RecordedRun> runs = allocators::RecordedRuns(session, {.over_time = true});
  const auto run = std::find_if(runs.begin(), runs.end(), [&](const RecordedRun& r) {
    return r.device == device && r.process == process;
  });
  if (run == runs.end() || run->source != RequestSource::kBlocks ||
      run->trace.events.size() > kMostEvents || run->figures.peak_reserved == 0)
    return nullptr;
  ReplayOptions options;
  options.device = device;
  options.others = {allocators::AllocatorSpec()};  // else the usual ones
  options.placement_seconds = 0;
  for (const DeviceReplay& replay : ReplayAllocators(session, options)) {
    if (replay.process != process || replay.device != device || replay.uncertain) continue;
    const allocators::AllocatorSpec& spec = replay.replayed.spec;
    if (spec.kind != allocators::AllocatorKind::kCaching) continue;
    allocators::EstimateRequests(session, spec, &*run);
    return std::unique_ptr<const ReservedReplay>(new ReservedReplay(std::move(*run), spec));
  }
  return nullptr;
}

std::uint64_t ReservedReplay::With(const RequestChanges& changes) const {
  allocators::Device device;
  allocators::ExpectRecorded(run_, &device);
  const auto allocator = allocators::MakeAllocator(spec_, &device);
  allocators::Replay(ChangedTrace(run_, changes), allocator.get(), &device);
  return allocator->figures().peak_reserved;
}

bool ReservedReplay::EndsFailures(const RequestChanges& changes) const {
  const std::uint64_t capacity =
      std::min(run_.available, run_.capacity > 0 ? run_.capacity : allocators::kUnlimited);
  if (run_.refused == 0 || capacity == allocators::kUnlimited) return false;
  allocators::Device device(capacity);
  allocators::ExpectRecorded(run_, &device);
  const auto allocator = allocators::MakeAllocator(spec_, &device);
  allocators::Replay(ChangedTrace(run_, changes), allocator.get(), &device);
  return allocator->figures().failures == 0;
}

}  // namespace memprof::analysis
