// Replays recorded requests with other allocators.
#include "analysis/allocators/allocator_replay.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <thread>

#include "analysis/allocators/internal/requests.h"
#include "analysis/allocators/torch_settings.h"

namespace memprof::analysis {
namespace {

using allocators::AllocatorKind;
using allocators::AllocatorSpec;
using allocators::Device;
using allocators::kUnlimited;
using allocators::RecordedRun;
using allocators::RequestSource;
using allocators::Trace;
using allocators::TraceOp;

constexpr std::uint64_t kGrain = 512;  // bytes that every arrangement is aligned to

// Calls work(i) for i below `count` on up to `threads` threads.
template <typename Work>
void ForEach(std::size_t count, int threads, const Work& work) {
  if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const auto helpers = std::min<std::size_t>(static_cast<std::size_t>(threads), count);
  std::atomic<std::size_t> next{0};
  const auto loop = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < helpers; ++i) others.emplace_back(loop);
  loop();
  for (std::thread& thread : others) thread.join();
}

// Shared by all simulations of a call: their progress, and whether they continue.
class Course {
 public:
  Course(const Session& session, const ReplayOptions& options)
      : session_(session), options_(options) {}

  // Adds to the number of events that will be simulated.
  void Expect(std::uint64_t events) { expected_ += events; }
  bool stopped() const { return options_.stop.stop_requested(); }

  bool Tick(std::size_t events) {
    const std::uint64_t done = done_ += events;
    if (options_.progress && expected_ > 0) {
      const std::lock_guard lock(mutex_);
      const double share =
          std::min(0.999, static_cast<double>(done) / static_cast<double>(expected_));
      if (share > reported_) options_.progress(reported_ = share);
    }
    return !stopped();
  }

  void Report(const DeviceReplay& replay) {
    if (!options_.so_far || stopped()) return;
    const std::lock_guard lock(mutex_);
    options_.so_far(replay);
  }

  // Feeds `run` to an allocator.
  WhatIf Feed(const RecordedRun& run, const AllocatorSpec& spec, Device* device, bool as_recorded,
              std::vector<std::uint64_t>* samples) {
    const auto allocator = allocators::MakeAllocator(spec, device);
    allocators::TraceReplayOptions options{.as_recorded = as_recorded, .samples = samples};
    options.tick = [this](std::size_t events) { return Tick(events); };
    ReservedCurve curve;
    allocators::TraceRows::Cursor rows(run.trace.rows);
    if (options_.over_time) {
      options.reserved = [&](std::size_t event, std::uint64_t reserved) {
        curve.Add(session_.events().time(rows.At(event)), reserved);
      };
    }
    allocators::Replay(run.trace, allocator.get(), device, options);
    WhatIf result;
    result.spec = spec;
    result.figures = allocator->figures();
    result.driver_calls = device->calls();
    result.reserved = curve.Take();
    result.done = !stopped();
    return result;
  }

 private:
  const Session& session_;
  const ReplayOptions& options_;
  std::uint64_t expected_ = 0;
  std::atomic<std::uint64_t> done_{0};
  std::mutex mutex_;
  double reported_ = 0;
};

WhatIf Simulate(const RecordedRun& run, const AllocatorSpec& spec, std::uint64_t capacity,
                Course* course) {
  Device device(capacity);
  // PyTorch's allocator takes the lowest of equal blocks: segments that it took then, too, are
  // where the driver put them.
  ExpectRecorded(run, &device);
  WhatIf result = course->Feed(run, spec, &device, false, nullptr);
  result.fits = result.figures.failures == 0;
  return result;
}

// As recorded, without a limit of memory, because the log has the releases that a lack of memory
// caused.
WhatIf SimulateRecorded(const RecordedRun& run, const AllocatorSpec& spec,
                        std::vector<std::uint64_t>* samples, Course* course) {
  Device device(kUnlimited);
  ExpectRecorded(run, &device);
  return course->Feed(run, spec, &device, true, samples);
}

std::int64_t Difference(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(a - b);  // unsigned: a log may say anything
}

// Allocators that the log allows, the likeliest first.
std::vector<AllocatorSpec> Candidates(const RecordedRun& run) {
  std::vector<AllocatorSpec> candidates;
  AllocatorSpec spec;
  if (run.source == RequestSource::kStreamOrdered) {
    spec.kind = AllocatorKind::kPool;
    candidates.push_back(spec);
    spec.pool.release_threshold = kUnlimited;
    candidates.push_back(spec);
    return candidates;
  }
  if (run.source == RequestSource::kDriver) {
    spec.kind = AllocatorKind::kCuda;
    return {spec};
  }
  candidates.push_back(spec);
  if (run.smallest_unsplit != kUnlimited) {
    AllocatorSpec split = spec;
    // PyTorch's option is a number of MiB.
    split.caching.max_split = run.smallest_unsplit >> 20 << 20;
    candidates.push_back(split);
  }
  spec.caching.expandable = true;
  candidates.push_back(spec);
  if (run.rounded_up > 0) {
    for (const std::uint32_t parts : {1u, 2u, 4u, 8u, 16u, 32u}) {
      spec = AllocatorSpec();
      spec.caching.roundup_power2.fill(parts);
      candidates.push_back(spec);
    }
  }
  if (run.odd_sizes > 0) {
    spec = AllocatorSpec();
    spec.kind = AllocatorKind::kBfc;
    candidates.push_back(spec);
  }
  return candidates;
}

// The settings of PyTorch's allocator in the recorded process's environment.
bool FromEnvironment(const RunInfo& process, AllocatorSpec* spec) {
  const std::string_view settings = allocators::TorchConfigurationOf(process);
  if (settings.empty()) return false;
  const auto parsed = allocators::ParseTorchConfiguration(settings);
  if (!parsed.ok()) return false;
  *spec = *parsed;
  return true;
}

// The largest difference, as both grew since the first sample.
std::int64_t WorstSample(const std::vector<std::uint64_t>& replayed,
                         const std::vector<std::uint64_t>& recorded) {
  std::int64_t worst = 0;
  for (std::size_t i = 1; i < replayed.size() && i < recorded.size(); ++i) {
    const std::int64_t difference =
        Difference(replayed[i], replayed[0]) - Difference(recorded[i], recorded[0]);
    if (std::abs(difference) > std::abs(worst)) worst = difference;
  }
  return worst;
}

void FindRecorded(const Session& session, const RecordedRun& run, const ReplayOptions& options,
                  Course* course, DeviceReplay* result) {
  std::vector<AllocatorSpec> candidates;
  AllocatorSpec spec;
  if (options.recorded != nullptr) {
    candidates = {*options.recorded};
    result->origin = SpecOrigin::kGiven;
  } else if (run.source == RequestSource::kBlocks &&
             FromEnvironment(session.processes()[run.process].run, &spec)) {
    candidates = {spec};
    result->origin = SpecOrigin::kEnvironment;
  } else {
    candidates = Candidates(run);
  }
  std::uint64_t least = kUnlimited;
  for (const AllocatorSpec& candidate : candidates) {
    std::vector<std::uint64_t> samples;
    WhatIf replayed = SimulateRecorded(run, candidate, &samples, course);
    std::int64_t residual = Difference(replayed.figures.peak_reserved, run.figures.peak_reserved);
    if (run.source == RequestSource::kDriver) {
      result->samples = samples.size();
      result->unchecked = samples.size() < 2;
      residual = result->unchecked ? 0 : WorstSample(samples, run.samples);
      // The driver's own rounding is in none of the log's figures but those of the samples.
      result->recorded.peak_reserved = replayed.figures.peak_reserved;
      result->recorded_reserved = replayed.reserved;
    }
    const auto distance = static_cast<std::uint64_t>(std::abs(residual));
    if (distance >= least) continue;
    least = distance;
    result->replayed = std::move(replayed);
    result->residual = residual;
    if (distance == 0 || course->stopped()) break;
  }
  result->uncertain =
      result->unchecked || run.releases_unclear ||
      static_cast<double>(least) > 0.01 * static_cast<double>(result->recorded.peak_reserved);
}

// As an arrangement takes it.
std::uint64_t PlacedBytes(const Trace& trace, std::uint32_t block) {
  return allocators::RoundUp(std::min(trace.blocks[block].bytes, allocators::kMaxRequest), kGrain);
}

// As PlacementBound(Buffers(trace)), for traces that are too large for these.
std::uint64_t BoundOf(const Trace& trace) {
  std::uint64_t live = 0, most = 0;
  for (const allocators::TraceEvent& event : trace.events) {
    if (event.op == TraceOp::kAllocate) live += PlacedBytes(trace, event.number);
    if (event.op == TraceOp::kFree) live -= PlacedBytes(trace, event.number);
    most = std::max(most, live);
  }
  return most;
}

// Lifetimes on the clock of the trace's events.
std::vector<PlacementBuffer> Buffers(const Trace& trace) {
  std::vector<PlacementBuffer> buffers(trace.blocks.size());  // those refused stay empty
  std::uint64_t now = 0;
  for (const allocators::TraceEvent& event : trace.events) {
    ++now;
    if (event.op == TraceOp::kAllocate) {
      buffers[event.number] = {now, kUnlimited, PlacedBytes(trace, event.number)};
    } else if (event.op == TraceOp::kFree) {
      buffers[event.number].end = now;
    }
  }
  for (PlacementBuffer& buffer : buffers) buffer.end = std::min(buffer.end, now + 1);
  return buffers;
}

// Whether an arrangement can be sought: to place a buffer costs what it overlaps. A program has
// some hundreds of buffers at a time; a log in which all live at once would take hours.
bool Placeable(const Trace& trace) {
  constexpr std::uint64_t kPairs = 300'000'000, kOverlaps = 1000;
  std::uint64_t live = 0, pairs = 0;
  for (const allocators::TraceEvent& event : trace.events) {
    if (event.op == TraceOp::kAllocate) pairs += live++;
    if (event.op == TraceOp::kFree) --live;
  }
  return pairs <= std::max(kPairs, kOverlaps * trace.blocks.size());
}

DeviceReplay ReplayDevice(const Session& session, RecordedRun& run,
                          const std::vector<AllocatorSpec>& specs, const ReplayOptions& options,
                          Course* course) {
  DeviceReplay result;
  result.device = run.device;
  result.process = run.process;
  result.source = run.source;
  result.requests = run.trace.blocks.size() - run.refused;
  result.refused = run.refused;
  result.events = run.trace.events.size();
  result.streams = run.streams;
  result.recorded = run.figures;
  result.recorded_driver_calls = run.driver_calls;
  result.recorded_reserved = run.reserved;
  result.peak_outside = run.peak_outside;
  result.capacity_given = options.capacity > 0;
  result.capacity = options.capacity;
  if (options.capacity == 0) {
    result.capacity = std::min(run.available, run.capacity > 0 ? run.capacity : kUnlimited);
  }
  for (const AllocatorSpec& spec : specs) result.others.push_back({.spec = spec});
  // For the driver's allocations, only the simulation knows what was reserved.
  if (run.source != RequestSource::kDriver) course->Report(result);
  FindRecorded(session, run, options, course, &result);
  if (const AllocatorSpec& recorded = result.replayed.spec;
      recorded.kind == AllocatorKind::kCaching && !course->stopped()) {
    result.estimated = allocators::EstimateRequests(session, recorded, &run);
  }
  result.max_live = BoundOf(run.trace);
  course->Report(result);
  std::mutex mutex;  // of result.others, which is reported while other threads still work
  ForEach(specs.size(), options.threads, [&](std::size_t i) {
    if (course->stopped()) return;
    WhatIf other = Simulate(run, specs[i], result.capacity, course);
    other.saving = Difference(result.recorded.peak_reserved, other.figures.peak_reserved);
    const std::lock_guard lock(mutex);
    result.others[i] = std::move(other);
    course->Report(result);
  });
  if (course->stopped()) return result;

  const bool wanted =
      options.placement_seconds > 0 && run.trace.blocks.size() <= options.placement_requests;
  result.too_many_live = wanted && !Placeable(run.trace);
  if (wanted && !result.too_many_live) {
    PlacementOptions placement;
    placement.seconds = options.placement_seconds;
    placement.threads = options.threads;
    result.placement = PlaceBuffers(Buffers(run.trace), placement);
  }
  return result;
}

}  // namespace

std::vector<AllocatorSpec> UsualAllocators() {
  std::vector<AllocatorSpec> specs;
  const auto add = [&specs](const char* text) { specs.push_back(*allocators::ParseSpec(text)); };
  add("caching");
  add("caching:expandable");
  add("caching:max_split=128MiB");
  add("caching:roundup=8");
  add("pool");
  add("pool:keep");
  add("bfc");
  add("rmm_pool");
  add("rmm_arena");
  add("cuda");
  return specs;
}

std::vector<DeviceReplay> ReplayAllocators(const Session& session, const ReplayOptions& options) {
  const std::vector<AllocatorSpec> specs =
      options.others.empty() ? UsualAllocators() : options.others;
  std::vector<RecordedRun> runs =
      allocators::RecordedRuns(session, {.over_time = options.over_time, .stop = options.stop});
  Course course(session, options);
  for (const RecordedRun& run : runs) {
    if (options.device != kNoDevice && run.device != options.device) continue;
    // Counts one simulation of the recorded allocator: of its candidates, mostly the first one
    // matches.
    course.Expect((specs.size() + 1) * run.trace.events.size());
  }
  std::vector<DeviceReplay> results;
  for (RecordedRun& run : runs) {
    if (options.device != kNoDevice && run.device != options.device) continue;
    if (course.stopped()) break;
    results.push_back(ReplayDevice(session, run, specs, options, &course));
    run = RecordedRun();
  }
  return results;
}

}  // namespace memprof::analysis
