// Predictions: requests with other sizes, fed to the recorded allocator.
#include "analysis/footprint/footprint.h"

#include <algorithm>
#include <cmath>

#include "analysis/footprint/internal/simulate.h"

namespace memprof::analysis {
namespace {

using allocators::RequestSource;
using allocators::Trace;
using allocators::TraceOp;

// The most requested bytes alive at one time, and the same with the program's other driver memory.
void AskedOfDriver(const Trace& trace, FootprintPeaks* peaks) {
  std::uint64_t live = 0, outside = 0;
  for (const allocators::TraceEvent& event : trace.events) {
    switch (event.op) {
      case TraceOp::kAllocate:
        live += trace.blocks[event.number].bytes;
        break;
      case TraceOp::kFree:
        live -= trace.blocks[event.number].bytes;
        break;
      case TraceOp::kOutside:
        outside = trace.outside[event.number];
        break;
      default:
        break;
    }
    peaks->requested = std::max(peaks->requested, live);
    peaks->driver = std::max(peaks->driver, live + outside);
  }
}

}  // namespace

FootprintPeaks SimulateFootprint(const Trace& trace, const allocators::AllocatorSpec& spec,
                                 RequestSource source, bool as_recorded) {
  allocators::Device device;
  const auto allocator = allocators::MakeAllocator(spec, &device);
  allocators::Replay(trace, allocator.get(), &device, {.as_recorded = as_recorded});
  FootprintPeaks peaks;
  AskedOfDriver(trace, &peaks);
  peaks.reserved = allocator->figures().peak_reserved;
  // For an allocator that allocates segments by plain calls, the use of the device is the sum of
  // the requests to the driver.
  if (source == RequestSource::kBlocks) peaks.driver = device.peak_used();
  return peaks;
}

std::uint64_t Footprint::overhead() const {
  std::uint64_t most = 0;
  for (const FootprintRun& run : runs_) most = std::max(most, run.overhead);
  return most;
}

bool Footprint::uncertain() const {
  return std::any_of(runs_.begin(), runs_.end(), [this](const FootprintRun& run) {
    const auto recorded =
        static_cast<double>(HasAllocator() ? run.recorded.reserved : run.recorded.driver);
    const auto replayed =
        static_cast<double>(HasAllocator() ? run.replayed.reserved : run.replayed.driver);
    return std::abs(replayed - recorded) > 0.01 * recorded;
  });
}

Trace Footprint::Scaled(const Base& base, std::uint64_t batch) const {
  Trace trace = base.trace;
  for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
    trace.blocks[i].bytes = std::min(base.sizes[i].At(batch), allocators::kMaxRequest);
  }
  for (std::size_t i = 0; i < trace.outside.size(); ++i) {
    const std::uint64_t bytes = trace.outside[i] == 0 ? 0 : base.outside[i].At(batch);
    trace.outside[i] = std::min(bytes, allocators::kMaxRequest);
  }
  return trace;
}

void Footprint::Try(const Trace& trace, std::uint64_t capacity,
                    FootprintPrediction* prediction) const {
  allocators::Device device(capacity);
  const auto allocator = allocators::MakeAllocator(spec_, &device);
  allocators::Replay(trace, allocator.get(), &device);
  // Memory outside of the allocator is needed with any capacity.
  prediction->fits = allocator->figures().failures == 0 && device.peak_used() <= capacity;
  prediction->failed_bytes = allocator->figures().failed_bytes;
  if (!prediction->fits) return;
  // Without an allocator, the program has no cache to free when memory is short.
  prediction->held = HasAllocator() ? device.peak_used() : prediction->peaks.driver;
}

FootprintPrediction Footprint::PredictFrom(const Base& base, std::uint64_t batch,
                                           std::uint64_t capacity) const {
  FootprintPrediction prediction;
  prediction.batch = batch;
  prediction.base = base.batch;
  const Trace trace = Scaled(base, batch);
  prediction.peaks = SimulateFootprint(trace, spec_, source_, false);
  if (capacity != allocators::kUnlimited) Try(trace, capacity, &prediction);
  return prediction;
}

// By ratio, because a program's behaviour changes with the order of magnitude of the input.
const Footprint::Base& Footprint::NearestTo(std::uint64_t batch) const {
  const auto distance = [batch](const Base& base) {
    return std::abs(std::log(static_cast<double>(base.batch) / static_cast<double>(batch)));
  };
  return *std::min_element(bases_.begin(), bases_.end(), [&distance](const Base& a, const Base& b) {
    return distance(a) < distance(b);
  });
}

FootprintPrediction Footprint::Predict(std::uint64_t batch, std::uint64_t capacity) const {
  return PredictFrom(NearestTo(batch), batch, capacity);
}

FootprintLimit Footprint::Largest(std::uint64_t capacity, std::uint64_t multiple) const {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 32;  // no input is that large
  const auto fits = [this, capacity, multiple](std::uint64_t count) {
    FootprintPrediction prediction;
    Try(Scaled(NearestTo(count * multiple), count * multiple), capacity, &prediction);
    return prediction.fits;
  };
  FootprintLimit limit;
  std::uint64_t good = 0, bad = 1;  // multiples; 0 = none
  while (!limit.unbounded && fits(bad)) {
    good = bad;
    bad *= 2;
    limit.unbounded = good * multiple >= kMax;
  }
  while (!limit.unbounded && bad - good > 1) {
    const std::uint64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  limit.any = good > 0;
  limit.batch = good * multiple;
  if (limit.any) limit.at = Predict(limit.batch, capacity);
  if (!limit.unbounded) limit.beyond = Predict(bad * multiple, capacity);
  return limit;
}

}  // namespace memprof::analysis
