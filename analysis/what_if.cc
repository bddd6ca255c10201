// Replays recorded requests with other allocators.
#include "analysis/what_if.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <thread>

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

WhatIf Simulate(const RecordedRun& run, const AllocatorSpec& spec, std::uint64_t capacity) {
  Device device(capacity);
  const auto allocator = allocators::MakeAllocator(spec, &device);
  allocators::Replay(run.trace, allocator.get(), &device);
  WhatIf result;
  result.spec = spec;
  result.figures = allocator->figures();
  result.driver_calls = device.calls();
  result.fits = result.figures.failures == 0;
  return result;
}

// As recorded: memory is never short, because the log says what was given back when it was.
WhatIf SimulateRecorded(const RecordedRun& run, const AllocatorSpec& spec,
                        std::vector<std::uint64_t>* samples) {
  Device device(kUnlimited);
  for (const allocators::TraceRange& range : run.segments) {
    device.ExpectAddress(range.bytes, range.address);
  }
  const auto allocator = allocators::MakeAllocator(spec, &device);
  allocators::Replay(run.trace, allocator.get(), &device,
                     {.as_recorded = true, .samples = samples});
  WhatIf result;
  result.spec = spec;
  result.figures = allocator->figures();
  result.driver_calls = device.calls();
  return result;
}

std::int64_t Difference(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(a) - static_cast<std::int64_t>(b);
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

// What the recorded process's environment says of PyTorch's allocator.
bool FromEnvironment(const RunInfo& process, AllocatorSpec* spec) {
  for (const std::string_view name : {"PYTORCH_ALLOC_CONF=", "PYTORCH_CUDA_ALLOC_CONF="}) {
    for (const std::string& entry : process.environment) {
      if (!entry.starts_with(name)) continue;
      const auto parsed =
          allocators::ParseTorchConfiguration(std::string_view(entry).substr(name.size()));
      if (!parsed.ok()) continue;
      *spec = *parsed;
      return true;
    }
  }
  return false;
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
                  DeviceReplay* result) {
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
    WhatIf replayed = SimulateRecorded(run, candidate, &samples);
    std::int64_t residual = Difference(replayed.figures.peak_reserved, run.figures.peak_reserved);
    if (run.source == RequestSource::kDriver) {
      result->samples = samples.size();
      result->unchecked = samples.size() < 2;
      residual = result->unchecked ? 0 : WorstSample(samples, run.samples);
      // The driver's own rounding is in none of the log's figures but those of the samples.
      result->recorded.peak_reserved = replayed.figures.peak_reserved;
    }
    const auto distance = static_cast<std::uint64_t>(std::abs(residual));
    if (distance >= least) continue;
    least = distance;
    result->replayed = std::move(replayed);
    result->residual = residual;
    if (distance == 0) break;
  }
  result->uncertain =
      result->unchecked ||
      static_cast<double>(least) > 0.01 * static_cast<double>(result->recorded.peak_reserved);
}

// Lifetimes on the clock of the trace's events.
std::vector<PlacementBuffer> Buffers(const Trace& trace) {
  std::vector<PlacementBuffer> buffers(trace.blocks.size());  // those refused stay empty
  std::uint64_t now = 0;
  for (const allocators::TraceEvent& event : trace.events) {
    ++now;
    if (event.op == TraceOp::kAllocate) {
      const std::uint64_t bytes =
          std::min(trace.blocks[event.number].bytes, allocators::kLargestRequest);
      buffers[event.number] = {now, kUnlimited, allocators::RoundUp(bytes, kGrain)};
    } else if (event.op == TraceOp::kFree) {
      buffers[event.number].end = now;
    }
  }
  for (PlacementBuffer& buffer : buffers) buffer.end = std::min(buffer.end, now + 1);
  return buffers;
}

DeviceReplay ReplayDevice(const Session& session, const RecordedRun& run,
                          const ReplayOptions& options) {
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
  result.peak_outside = run.peak_outside;
  result.capacity_given = options.capacity > 0;
  result.capacity = options.capacity;
  if (options.capacity == 0) {
    result.capacity = std::min(run.room, run.capacity > 0 ? run.capacity : kUnlimited);
  }
  FindRecorded(session, run, options, &result);

  const std::vector<AllocatorSpec> specs =
      options.others.empty() ? UsualAllocators() : options.others;
  result.others.resize(specs.size());
  ForEach(specs.size(), options.threads, [&](std::size_t i) {
    WhatIf& other = result.others[i];
    other = Simulate(run, specs[i], result.capacity);
    other.saving = Difference(result.recorded.peak_reserved, other.figures.peak_reserved);
  });

  const std::vector<PlacementBuffer> buffers = Buffers(run.trace);
  result.max_live = PlacementBound(buffers);
  if (options.placement_seconds > 0) {
    PlacementOptions placement;
    placement.seconds = options.placement_seconds;
    placement.threads = options.threads;
    result.placement = PlaceBuffers(buffers, placement);
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
  std::vector<DeviceReplay> results;
  for (const RecordedRun& run : allocators::RecordedRuns(session)) {
    if (options.device != kNoDevice && run.device != options.device) continue;
    results.push_back(ReplayDevice(session, run, options));
  }
  return results;
}

}  // namespace memprof::analysis
