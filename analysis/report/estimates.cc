// Adds up what the stand-in estimated, and how far that is from real GPUs.
#include "analysis/report/estimates.h"

#include <algorithm>
#include <map>

#include "analysis/report/internal/most_at_once.h"

namespace memprof::analysis {
namespace {

// The name of a device whose GPU was not named (simcuda/common/config.h).
constexpr std::string_view kUnnamed = "memprof stand-in GPU";

// docs/fit.md and docs/torch-sim.md say from which measurements each of these comes.
constexpr double kPeakError =
    0.04;  // of PyTorch's reserved memory: 90th percentile of 96 trainings
constexpr double kContextError = 0.05;  // the largest of nine GPUs
constexpr double kCodeError = 0.6;      // 10 to 14 MiB for 10, and 164 MiB for 101
constexpr double kNcclError = 0.15;     // the largest of three communicators

std::uint64_t Portion(std::uint64_t bytes, double error) {
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * error);
}

// The names of the libraries (analysis/symbols/libraries.h) of stacks, each found once.
class LibraryNames {
 public:
  LibraryNames(const Session& session, Symbols& symbols)
      : symbols_(symbols), names_(session.stack_count() + 1) {}
  std::string_view Of(StackId stack) {
    std::optional<std::string_view>& name =
        names_[std::min<std::size_t>(stack.value, names_.size() - 1)];
    if (!name) name = symbols_.LibraryOf(stack).name;
    return *name;
  }

 private:
  Symbols& symbols_;
  std::vector<std::optional<std::string_view>> names_;
};

// The most at once of each library, by device. Workspaces of cuDNN are blocks, parts of what
// PyTorch requested from the driver; NCCL requests its memory itself.
struct LibraryMemory {
  LibraryMemory(const Session& session, LibraryNames names)
      : cudnn(MostAtOnce(session,
                         [&](const AllocationRecord& a) {
                           return a.layer == Layer::kBlock &&
                                  names.Of(a.stack) == "cuDNN workspace";
                         })),
        nccl(MostAtOnce(session, [&](const AllocationRecord& a) {
          return OccupiesDevice(a.layer) && names.Of(a.stack) == "NCCL";
        })) {}
  std::map<int, std::uint64_t> cudnn, nccl;
};

std::uint64_t Of(const std::map<int, std::uint64_t>& bytes, int device) {
  const auto at = bytes.find(device);
  return at == bytes.end() ? 0 : at->second;
}

bool IsEstimated(const DeviceFigures& device) {
  return device.info.simulated && device.info.name != kUnnamed && device.ledger.highest;
}

Fit FitOf(const DeviceEstimates& estimates, bool failed) {
  if (failed) return Fit::kDoesNotFit;
  return estimates.peak_bytes + estimates.peak_error_bytes > estimates.capacity_bytes ? Fit::kClose
                                                                                      : Fit::kFits;
}

// Whether an allocator gave up. A failed request alone may have been repeated with success.
bool RanOut(const Session& session, int device) {
  const EventTable& events = session.events();
  for (std::uint32_t i = 0; i < events.size(); ++i)
    if (events.op(i) == Op::kFrameworkOom && events.device(i) == device) return true;
  return false;
}

DeviceEstimates EstimatesOfDevice(const Session& session, const DeviceFigures& device,
                                  const LibraryMemory& libraries) {
  const LedgerEntry& highest = *device.ledger.highest;
  DeviceEstimates result{
      .device = device.info.id,
      .peak_bytes = highest.sample.used_bytes(),
      .peak_error_bytes = Portion(device.framework.peak_reserved_bytes, kPeakError),
      .capacity_bytes = highest.sample.total_bytes,
      .framework = device.framework.seen};
  const auto add = [&](EstimateKind kind, std::uint64_t bytes, std::optional<double> error) {
    if (bytes == 0) return;
    Estimate& estimate = result.parts.emplace_back(Estimate{.kind = kind, .bytes = bytes});
    if (!error) return;
    estimate.error_bytes = Portion(bytes, *error);
    result.peak_error_bytes += *estimate.error_bytes;
  };
  add(EstimateKind::kContext, highest.untracked_bytes, kContextError);
  add(EstimateKind::kKernelCode, highest.by_layer[static_cast<std::size_t>(Layer::kModule)],
      kCodeError);
  add(EstimateKind::kCudnnWorkspaces, Of(libraries.cudnn, device.info.id), {});
  add(EstimateKind::kNccl, Of(libraries.nccl, device.info.id), kNcclError);
  result.fit = FitOf(result, RanOut(session, device.info.id));
  return result;
}

}  // namespace

std::string_view EstimateName(EstimateKind kind) {
  constexpr std::string_view kNames[] = {"context", "kernels' code", "cuDNN workspaces", "NCCL"};
  return kNames[static_cast<int>(kind)];
}

std::string_view FitName(Fit fit) {
  constexpr std::string_view kNames[] = {"fits", "close", "does not fit"};
  return kNames[static_cast<int>(fit)];
}

std::vector<DeviceEstimates> EstimatesOf(const Session& session, Symbols& symbols,
                                         const Report& report) {
  std::vector<DeviceEstimates> all;
  if (std::none_of(report.devices.begin(), report.devices.end(), IsEstimated)) return all;
  const LibraryMemory libraries(session, LibraryNames(session, symbols));
  for (const DeviceFigures& device : report.devices)
    if (IsEstimated(device)) all.push_back(EstimatesOfDevice(session, device, libraries));
  return all;
}

}  // namespace memprof::analysis
