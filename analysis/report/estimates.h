// What of a device's memory is an estimate of the stand-in GPU: on a real one, it is decided by the
// driver and by CUDA's libraries. Everything else the program requested itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/report/report.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

enum class EstimateKind : std::uint8_t { kContext, kKernelCode, kCudnnWorkspaces, kNccl };
// "context", "kernels' code", …
std::string_view EstimateName(EstimateKind kind);

struct Estimate {
  EstimateKind kind = EstimateKind::kContext;
  // Context and code: in the highest use of the device. Of libraries: the most at once.
  std::uint64_t bytes = 0;
  // How far real GPUs were from it; none: part of the error of the whole (workspaces move the peak
  // also by which blocks are split).
  std::optional<std::uint64_t> error_bytes;
};

enum class Fit : std::uint8_t { kFits, kClose, kDoesNotFit };
std::string_view FitName(Fit fit);  // "fits", "close", "does not fit"

struct DeviceEstimates {
  int device = 0;
  std::vector<Estimate> parts;  // those that are not 0
  // Of the highest use: what nine of ten compared trainings differed if a framework's allocator was
  // seen, and the errors of the parts.
  std::uint64_t peak_bytes = 0, peak_error_bytes = 0, capacity_bytes = 0;
  bool framework = false;
  Fit fit = Fit::kFits;  // kClose: by less than the error
};

// Of the simulated devices with samples whose GPU was named (--sim=gpu=NAME). O(log events), and
// resolves all stacks that allocated on such a device.
std::vector<DeviceEstimates> EstimatesOf(const Session& session, Symbols& symbols,
                                         const Report& report);

}  // namespace memprof::analysis
