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

// Segments of PyTorch's allocator for large blocks and for small ones.
constexpr std::uint64_t kSegment = 20 << 20, kSmallSegment = 2 << 20;

// The most requested bytes alive at one time, and the same with the program's other driver memory.
void FindRequestPeaks(const Trace& trace, FootprintPeaks* peaks) {
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

// `other`: where another law is possible, by that one.
Trace Scaled(const FootprintData& data, const FootprintData::Base& base, std::uint64_t batch,
             bool other = false) {
  Trace trace = base.trace;
  for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
    const SizeModel& size = base.sizes[i];
    trace.blocks[i].bytes =
        std::min(other ? size.OtherAt(batch) : size.At(batch), allocators::kMaxRequest);
  }
  for (std::size_t i = 0; i < trace.outside.size(); ++i) {
    const std::uint64_t bytes = trace.outside[i] == 0 ? 0 : base.outside[i].At(batch);
    trace.outside[i] = std::min(bytes, allocators::kMaxRequest);
  }
  if (!base.sums.empty()) SetColumnSums(base.sums, batch, data.multiprocessors, &trace);
  return trace;
}

// By ratio, because a program's behaviour changes with the order of magnitude of the input.
const FootprintData::Base& NearestTo(const FootprintData& data, std::uint64_t batch) {
  const auto distance = [batch](const FootprintData::Base& base) {
    return std::abs(std::log(static_cast<double>(base.batch) / static_cast<double>(batch)));
  };
  return *std::min_element(data.bases.begin(), data.bases.end(),
                           [&distance](const FootprintData::Base& a, const FootprintData::Base& b) {
                             return distance(a) < distance(b);
                           });
}

// Sets the part of a prediction that depends on a capacity.
void Try(const FootprintData& data, const Trace& trace, std::uint64_t capacity,
         FootprintPrediction* prediction) {
  allocators::Device device(capacity);
  const auto allocator = allocators::MakeAllocator(data.spec, &device);
  allocators::Replay(trace, allocator.get(), &device);
  // Memory outside of the allocator is needed with any capacity.
  prediction->fits = allocator->figures().failures == 0 && device.peak_used() <= capacity;
  prediction->failed_bytes = allocator->figures().failed_bytes;
  if (!prediction->fits) return;
  // Without an allocator, the program has no cache to free when memory is short.
  prediction->held =
      data.source == RequestSource::kBlocks ? device.peak_used() : prediction->peaks.driver;
}

}  // namespace

FootprintPeaks SimulateFootprint(const Trace& trace, const allocators::AllocatorSpec& spec,
                                 RequestSource source, bool as_recorded) {
  allocators::Device device;
  const auto allocator = allocators::MakeAllocator(spec, &device);
  allocators::Replay(trace, allocator.get(), &device, {.as_recorded = as_recorded});
  FootprintPeaks peaks;
  FindRequestPeaks(trace, &peaks);
  peaks.reserved = allocator->figures().peak_reserved;
  // For an allocator that allocates segments by plain calls, the use of the device is the sum of
  // the requests to the driver.
  if (source == RequestSource::kBlocks) peaks.driver = device.peak_used();
  return peaks;
}

FootprintPrediction PredictFrom(const FootprintData& data, const FootprintData::Base& base,
                                std::uint64_t batch, std::uint64_t capacity) {
  FootprintPrediction prediction;
  prediction.batch = batch;
  prediction.base = base.batch;
  const Trace trace = Scaled(data, base, batch);
  prediction.peaks = SimulateFootprint(trace, data.spec, data.source, false);
  if (capacity != allocators::kUnlimited) Try(data, trace, capacity, &prediction);
  return prediction;
}

std::uint64_t Footprint::overhead() const {
  std::uint64_t most = 0;
  for (const FootprintRun& run : data_.runs) most = std::max(most, run.overhead);
  return most;
}

bool Footprint::uncertain() const {
  return std::any_of(data_.runs.begin(), data_.runs.end(), [this](const FootprintRun& run) {
    const auto recorded =
        static_cast<double>(HasAllocator() ? run.recorded.reserved : run.recorded.driver);
    const auto replayed =
        static_cast<double>(HasAllocator() ? run.replayed.reserved : run.replayed.driver);
    return std::abs(replayed - recorded) > 0.01 * recorded;
  });
}

FootprintPrediction Footprint::Predict(std::uint64_t batch, std::uint64_t capacity) const {
  FootprintPrediction prediction = PredictFrom(data_, NearestTo(data_, batch), batch, capacity);
  prediction.range = RangeOf(prediction);
  return prediction;
}

// Other answers that the runs allow: from the requests of another run, and with the other law where
// two are possible. Then what the simulation did not get right in the runs, in proportion; and one
// segment (or 10 %), because a small difference can need one more.
std::uint64_t Footprint::RangeOf(const FootprintPrediction& prediction) const {
  const std::uint64_t predicted = prediction.peaks.driver;
  const auto away = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; };
  std::uint64_t range = 0;
  for (const FootprintData::Base& base : data_.bases) {
    for (const bool other : {false, true}) {
      const bool unsure = std::any_of(base.sizes.begin(), base.sizes.end(),
                                      [](const SizeModel& size) { return size.unsure; });
      if (other ? !unsure : base.batch == prediction.base) continue;
      const std::uint64_t driver = SimulateFootprint(Scaled(data_, base, prediction.batch, other),
                                                     data_.spec, data_.source, false)
                                       .driver;
      range = std::max(range, away(driver, predicted));
    }
  }
  double share = 0;  // of a run's peak that was wrong
  for (const FootprintRun& run : data_.runs) {
    if (run.recorded.driver == 0) continue;
    const std::uint64_t checked = run.checked ? run.check.peaks.driver : run.replayed.driver;
    const std::uint64_t wrong = std::max(away(run.replayed.driver, run.recorded.driver),
                                         away(checked, run.recorded.driver));
    share = std::max(share, static_cast<double>(wrong) / static_cast<double>(run.recorded.driver));
  }
  range += static_cast<std::uint64_t>(share * static_cast<double>(predicted));
  if (HasAllocator()) range += std::clamp(predicted / 10, kSmallSegment, kSegment);
  return range;
}

FootprintLimit Footprint::Largest(std::uint64_t capacity, std::uint64_t multiple) const {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 32;  // no input is that large
  const auto fits = [this, capacity, multiple](std::uint64_t count) {
    FootprintPrediction prediction;
    Try(data_, Scaled(data_, NearestTo(data_, count * multiple), count * multiple), capacity,
        &prediction);
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
