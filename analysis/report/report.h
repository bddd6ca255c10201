// The figures of a run, for `memprof report` and the viewer's summary.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/fragmentation/fragmentation.h"
#include "analysis/leaks/leaks.h"
#include "analysis/peak/peak.h"
#include "analysis/store/session.h"
#include "analysis/timeline/ledger.h"
#include "analysis/timeline/timeline.h"

namespace memprof::analysis {

// Events of every layer; `total` includes marks, launches and all others. `frees` does not count
// frees that the driver refused, `allocations` no failed ones.
struct EventTotals {
  std::uint64_t total = 0, allocations = 0, frees = 0, failed = 0, lost = 0, unmatched_frees = 0;
  std::array<std::uint64_t, kLayerCount> allocations_by_layer{}, frees_by_layer{};
  // Scans of host memory for pointers, and the bytes of the last one.
  std::uint64_t host_scans = 0, last_scan_bytes = 0;
};

struct FrameworkFigures {
  bool seen = false;
  std::uint64_t peak_bytes = 0, live_bytes = 0, live_blocks = 0, reserved_bytes = 0,
                peak_reserved_bytes = 0;
};

// Figures of one device, defined in docs/json.md: peak, live and blocks count what the program
// requested from the driver, of every kind that occupies the device; reserved is what pools hold
// beyond that.
struct DeviceFigures {
  DeviceInfo info;
  std::uint64_t peak_bytes = 0, live_bytes = 0, live_blocks = 0, reserved_bytes = 0;
  std::uint64_t untracked_bytes =
      0;  // used by cuMemGetInfo's last sample minus all known use; 0 = no sample
  // The highest use of the whole device; without samples, the known use.
  std::uint64_t device_peak_bytes = 0;
  DeviceLedger ledger;
  FrameworkFigures framework;
};

// Page-locked host memory: pinned memory was allocated by CUDA, registered memory by the program.
struct HostFigures {
  std::uint64_t pinned_peak_bytes = 0, pinned_live_bytes = 0;
  std::uint64_t registered_peak_bytes = 0, registered_live_bytes = 0;
};

struct Report {
  EventTotals events;
  // Of a log that begins late (RunInfo::before_attach): what was allocated before, of the layer
  // that frameworks and programs allocate from (blocks; driver memory where no framework was seen).
  std::uint64_t before_attach_bytes = 0, before_attach_blocks = 0;
  std::vector<DeviceFigures> devices;
  HostFigures host;
  std::uint64_t steps = 0;
  std::vector<Peak> peaks;
  LeakReport leaks;
  FragmentationReport fragmentation;
};

Report BuildReport(const Session& session);

}  // namespace memprof::analysis
