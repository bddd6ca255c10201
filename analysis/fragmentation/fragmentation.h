// Fragmentation: free memory inside segments that cannot be used, and the blocks that pin it.
// Formulas: docs/fragmentation.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/timeline/address_map.h"

namespace memprof::analysis {

// A block that separates free memory on its two sides.
struct Pin {
  AllocationId block;
  std::uint64_t frees_bytes =
      0;  // size of the free run that would exist if it were freed, minus its own bytes
  std::uint64_t bytes = 0;       // its own
  double blame = 0;              // frees_bytes / bytes: high for a small block that pins much
  bool empties_segment = false;  // it is the only block of its segment
  TensorId tensor;               // the largest one in it; none if there is none
  // Since when the holes beside it have been free, the later of the two.
  TimeNs unused_since = 0;
};

// A free part of a segment.
struct Hole {
  std::uint64_t address = 0, bytes = 0;
  // Since when no byte of it was in use: the last end of a block in it, or the birth of the
  // segment.
  TimeNs since = 0;
  std::int64_t since_step = -1;
  AllocationId segment;
  AllocationId before, after;  // the blocks that pin it; none at an end of the segment
};

// One pool: segments of one stream and, as in PyTorch, of small or large blocks; private pools of
// CUDA graphs are separate.
struct PoolFragmentation {
  int device = 0;
  std::uint64_t private_pool = 0;  // Allocation::pool; 0 = none
  std::uint64_t stream = 0;
  bool small_blocks = false;  // segments of at most 2 MiB
  std::uint64_t segments = 0, blocks = 0;
  std::uint64_t reserved_bytes = 0, allocated_bytes = 0, free_bytes = 0;
  std::uint64_t largest_hole = 0;
  std::uint64_t rounding_bytes = 0;    // block sizes minus requested
  std::uint64_t releasable_bytes = 0;  // whole empty segments: could go back to the driver
  std::uint64_t unusable_bytes = 0;  // in holes smaller than the largest request seen in this pool
  // The share of free bytes that requests of the largest size seen, r, could not use:
  // 1 - sum(floor(f_i / r) * r) / sum f_i, over the holes f_i.
  double request_relative = 0;
  double external = 0;        // 1 - largest_hole / free
  double sum_of_squares = 0;  // 1 - sum(f_i^2) / (sum f_i)^2
  // free in segments with a block: cannot be released to the driver
  std::uint64_t pinned_bytes = 0;
  std::uint64_t hole_count = 0;
  std::vector<Hole> holes;  // largest first, at most 20
  std::vector<Pin> pins;    // worst first, at most 20
};

struct FragmentationReport {
  TimeNs time = 0;
  std::int64_t step = -1;
  std::vector<PoolFragmentation> pools;
  double utilisation = 1;  // peak allocated / peak reserved over the run (framework)
  double at_peak = 0;      // 1 - allocated / reserved at the instant of the reserved peak
};

// At `time`. kForever = at the peak of reserved memory of each device: of the instants at which
// most was reserved, the first at which most of it was in use. kNoDevice = all devices; then `time`
// and `step` are those of the device that reserved most.
FragmentationReport AnalyseFragmentation(const Session& session, int device = kNoDevice,
                                         TimeNs time = kForever);
// Of all devices at their peak; computed once a session.
std::shared_ptr<const FragmentationReport> FragmentationOf(const Session& session);

// The pools of one device at one instant, as in AnalyseFragmentation, without the figures of the
// whole run. O(records up to then + live set + events back to the oldest hole). For repeated
// queries use FragmentationHistory.
std::vector<PoolFragmentation> FragmentationAt(const Session& session, int device, TimeNs time);

// The same for any instant in a few milliseconds, once its indices are built; until then it
// searches the log, as above. Thread-safe.
class FragmentationHistory {
 public:
  explicit FragmentationHistory(std::shared_ptr<const Session> session);  // O(1)
  ~FragmentationHistory();
  // Builds the indices: O(blocks × log), about 10 B for each block of a framework's allocator.
  void Prepare() const;
  const Session& session() const { return *session_; }
  std::vector<PoolFragmentation> At(int device, TimeNs time) const;

 private:
  struct Indices;

  const std::shared_ptr<const Session> session_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<const Indices> indices_;
  mutable std::atomic<const Indices*> ready_{nullptr};
};

}  // namespace memprof::analysis
