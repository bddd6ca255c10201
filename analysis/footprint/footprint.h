// How much memory a program will take with an input of another size, from runs of two sizes or
// more: requests of the runs are aligned (internal/align.h), their sizes fitted (internal/fit.h),
// and the requests of the nearest run are fed, with sizes as fitted, to the allocator that was
// recorded.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/allocators/recorded.h"
#include "analysis/allocators/spec.h"
#include "analysis/footprint/internal/fit.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

struct FootprintInput {
  std::shared_ptr<const Session> session;
  std::uint64_t batch = 0;  // size of the input, > 0
};

// Highest figures of one device, in bytes. `driver` is what the program asked of the driver, as
// `memprof peak` counts it; `reserved` what the allocator took of it; `requested` what was asked of
// the allocator.
struct FootprintPeaks {
  std::uint64_t driver = 0, reserved = 0, requested = 0;
};

struct FootprintPrediction {
  std::uint64_t batch = 0;
  std::uint64_t base = 0;          // size of the run whose requests were taken
  FootprintPeaks peaks;            // where memory is never short
  bool fits = true;                // in the capacity asked for: no request fails there
  std::uint64_t failed_bytes = 0;  // the first request that does
  // Highest use of the driver in that capacity, where the allocator gives its cache back before it
  // fails: at most peaks.driver. Only where a capacity was asked for and it fits.
  std::uint64_t held = 0;
};

// One of the runs, and what the model makes of it.
struct FootprintRun {
  std::uint64_t batch = 0;
  std::uint64_t requests = 0;  // number
  FootprintPeaks recorded;
  FootprintPeaks replayed;     // its own requests, as recorded, fed to the simulated allocator
  std::uint64_t matched = 0;   // number of requests that are also in another run
  std::uint64_t overhead = 0;  // bytes of the device used by contexts and code, as far as is known
  // Predicted from all other runs, where that leaves two sizes.
  bool checked = false;
  FootprintPrediction check;
};

// What one call stack holds at the highest point of the largest run's requests, in bytes.
struct FootprintSite {
  StackId stack;  // of the largest run
  std::uint64_t bytes = 0, requests = 0;
  double fixed = 0, per_unit = 0, per_square = 0;  // of requests that follow a law
  Growth growth = Growth::kConstant;               // the least regular of its requests
};

struct FootprintGrowth {
  std::uint64_t constant = 0, linear = 0, quadratic = 0, irregular = 0, unknown = 0;  // numbers
};

struct FootprintLimit {
  bool any = false;            // some size fits
  bool unbounded = false;      // as far as can be told, every size does
  std::uint64_t batch = 0;     // the largest that fits
  FootprintPrediction at;      // it
  FootprintPrediction beyond;  // the next, which does not
};

// One device. Immutable once built, hence thread-safe.
class Footprint {
 public:
  int device() const { return device_; }
  allocators::RequestSource source() const { return source_; }
  // The allocator that the runs were recorded with, as the largest of them shows it.
  const allocators::AllocatorSpec& spec() const { return spec_; }
  bool HasAllocator() const { return source_ == allocators::RequestSource::kBlocks; }
  const std::vector<FootprintRun>& runs() const { return runs_; }  // by size
  std::uint64_t capacity() const { return capacity_; }             // of the device; 0 = unknown
  std::uint64_t overhead() const;                                  // the largest of the runs'
  // A run that is replayed as recorded is off by more than 1 %: the allocator is not understood.
  bool uncertain() const;

  // At the highest point of the largest run, largest first; all requests of that run.
  const std::vector<FootprintSite>& sites() const { return sites_; }
  const FootprintGrowth& growth() const { return growth_; }

  // O(requests · (runs + log requests)). `capacity` is for the program's memory: without overhead.
  FootprintPrediction Predict(std::uint64_t batch,
                              std::uint64_t capacity = allocators::kUnlimited) const;
  // The largest multiple of `multiple` that fits, found by halving: about 30 replays. Larger ones
  // than the first that is found not to fit are taken not to fit either.
  FootprintLimit Largest(std::uint64_t capacity, std::uint64_t multiple = 1) const;

 private:
  friend class FootprintBuilder;
  // One run as it is needed for predictions.
  struct Base {
    std::uint64_t batch = 0;
    allocators::Trace trace;
    std::vector<SizeModel> sizes, outside;  // of the trace's blocks, and of its outside bytes
  };
  const Base& NearestTo(std::uint64_t batch) const;
  allocators::Trace Scaled(const Base& base, std::uint64_t batch) const;
  // Sets what a prediction says about a capacity.
  void Try(const allocators::Trace& trace, std::uint64_t capacity,
           FootprintPrediction* prediction) const;
  FootprintPrediction PredictFrom(const Base& base, std::uint64_t batch,
                                  std::uint64_t capacity) const;

  int device_ = kNoDevice;
  allocators::RequestSource source_ = allocators::RequestSource::kBlocks;
  allocators::AllocatorSpec spec_;
  std::uint64_t capacity_ = 0;
  std::vector<FootprintRun> runs_;
  std::vector<Base> bases_;  // as runs_
  std::vector<FootprintSite> sites_;
  FootprintGrowth growth_;
};

// Devices that all runs used, in order of ordinals. Errors (kInvalidArgument, one line): fewer than
// two different sizes, a size of 0, no common device with requests, runs of different allocators.
// `recorded`: the allocator, where the caller knows; null = as the largest run shows it.
absl::StatusOr<std::vector<Footprint>> BuildFootprints(
    const std::vector<FootprintInput>& inputs, const allocators::AllocatorSpec* recorded = nullptr);

}  // namespace memprof::analysis
