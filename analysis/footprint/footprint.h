// Predicts how much memory a program takes with an input of another size, from runs of two sizes or
// more. The requests of the runs are aligned (internal/align.h) and their sizes fitted (fit.h);
// then the requests of the nearest run, with the fitted sizes, are replayed on the recorded
// allocator.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/allocators/recorded.h"
#include "analysis/allocators/spec.h"
#include "analysis/footprint/column_sums.h"
#include "analysis/footprint/fit.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

struct FootprintInput {
  std::shared_ptr<const Session> session;
  std::uint64_t batch = 0;  // size of the input, > 0
};

// The highest figures of one device, in bytes. `driver`: what the program requested from the
// driver, as `memprof peak` counts it. `reserved`: what the allocator took of it. `requested`: what
// was requested from the allocator.
struct FootprintPeaks {
  std::uint64_t driver = 0, reserved = 0, requested = 0;
};

struct FootprintPrediction {
  std::uint64_t batch = 0;
  std::uint64_t base = 0;  // size of the run whose requests were used
  FootprintPeaks peaks;    // with unlimited memory
  // Bytes that the driver's peak, and the reserved one, may be more or less; only of Predict().
  std::uint64_t range = 0;
  bool fits = true;                // no request fails with the given capacity
  std::uint64_t failed_bytes = 0;  // the first request that fails
  // The highest use of the driver with that capacity, where the allocator releases its cache before
  // it fails: at most peaks.driver. Only if a capacity was given and it fits.
  std::uint64_t held = 0;
};

// One of the runs, and how well the model fits it.
struct FootprintRun {
  std::uint64_t batch = 0;
  std::uint64_t requests = 0;  // number
  FootprintPeaks recorded;
  FootprintPeaks replayed;     // its own requests, on the simulated allocator
  std::uint64_t matched = 0;   // number of requests that are also in another run
  std::uint64_t overhead = 0;  // bytes of the device used by contexts and code, as far as is known
  // The prediction from all other runs, if these have two sizes.
  bool checked = false;
  FootprintPrediction check;
};

// The bytes of one call stack at the highest point of the largest run's requests.
struct FootprintSite {
  StackId stack;  // of the largest run
  std::uint64_t bytes = 0, requests = 0;
  double fixed = 0, per_unit = 0, per_square = 0;  // sums over its requests, except irregular ones
  Growth growth = Growth::kConstant;               // the least regular of its requests
};

struct FootprintGrowth {
  std::uint64_t constant = 0, linear = 0, quadratic = 0, irregular = 0, unknown = 0;  // numbers
};

struct FootprintLimit {
  bool any = false;            // some size fits
  bool unbounded = false;      // every size fits, as far as known
  std::uint64_t batch = 0;     // the largest that fits
  FootprintPrediction at;      // it
  FootprintPrediction beyond;  // the next, which does not
};

// The content of a Footprint, filled by BuildFootprints.
struct FootprintData {
  // One run, as needed for predictions.
  struct Base {
    std::uint64_t batch = 0;
    allocators::Trace trace;
    std::vector<SizeModel> sizes, outside;  // of the trace's blocks, and of its outside bytes
    std::vector<ColumnSum> sums;            // whose buffers have a law of their own
  };

  int device = kNoDevice;
  allocators::RequestSource source = allocators::RequestSource::kBlocks;
  allocators::AllocatorSpec spec;
  std::uint64_t capacity = 0;
  Multiprocessors multiprocessors;
  std::vector<FootprintRun> runs;
  std::vector<Base> bases;  // as `runs`
  std::vector<FootprintSite> sites;
  FootprintGrowth growth;
};

// One device. Immutable once built, hence thread-safe.
class Footprint {
 public:
  explicit Footprint(FootprintData data) : data_(std::move(data)) {}

  int device() const { return data_.device; }
  allocators::RequestSource source() const { return data_.source; }
  // The allocator of the runs, as determined from the largest one.
  const allocators::AllocatorSpec& spec() const { return data_.spec; }
  bool HasAllocator() const { return data_.source == allocators::RequestSource::kBlocks; }
  const std::vector<FootprintRun>& runs() const { return data_.runs; }  // by size
  std::uint64_t capacity() const { return data_.capacity; }  // of the device; 0 = unknown
  std::uint64_t overhead() const;                            // the largest of the runs'
  // Whether the replay of a run as recorded is off by more than 1 %: the allocator is not simulated
  // correctly.
  bool uncertain() const;

  // At the highest point of the largest run, largest first; all requests of that run.
  const std::vector<FootprintSite>& sites() const { return data_.sites; }
  const FootprintGrowth& growth() const { return data_.growth; }

  // O(requests · runs · log requests). `capacity`: for the program's memory, without overhead.
  FootprintPrediction Predict(std::uint64_t batch,
                              std::uint64_t capacity = allocators::kUnlimited) const;
  // The largest multiple of `multiple` that fits, by bisection: about 30 replays. Assumes that
  // nothing larger fits than the first size found not to fit.
  FootprintLimit Largest(std::uint64_t capacity, std::uint64_t multiple = 1) const;

 private:
  std::uint64_t RangeOf(const FootprintPrediction& prediction) const;

  FootprintData data_;
};

// The devices that all runs used, by ordinal. Errors (kInvalidArgument, one line): fewer than two
// different sizes, a size of 0, no common device with requests, runs with different allocators.
// `recorded`: the allocator, if the caller knows it; null = as determined from the largest run.
absl::StatusOr<std::vector<Footprint>> BuildFootprints(
    const std::vector<FootprintInput>& inputs, const allocators::AllocatorSpec* recorded = nullptr);

}  // namespace memprof::analysis
