// What each call site does in a run, step by step: the basis of comparisons.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

// Memory that counts once: blocks of allocators, and driver memory that no allocator divides.
class LeafMemory {
 public:
  explicit LeafMemory(const Session& session);
  bool Counts(AllocationId id) const {
    const AllocationRecord& a = session_.record(id);
    return a.device != kNoDevice &&
           (a.layer == Layer::kBlock || (OccupiesDevice(a.layer) && !suballocated_[id.value]));
  }

 private:
  const Session& session_;
  std::vector<bool> suballocated_;  // by allocation: memory of an allocator was in it at any time
};

// How much a figure goes up and down from one steady step to the next: the smaller of its largest
// rise and its largest fall. So a figure that only grows, in steps or at once, does not vary.
struct Variation {
  std::uint64_t rise = 0, fall = 0;

  void Add(std::uint64_t before, std::uint64_t after) {
    rise = std::max(rise, after > before ? after - before : 0);
    fall = std::max(fall, before > after ? before - after : 0);
  }
  std::uint64_t bytes() const { return std::min(rise, fall); }
};

struct SiteProfile {
  std::uint64_t bytes = 0, count = 0;     // allocated in all
  double step_bytes = 0, step_count = 0;  // allocated in a steady step; of the whole run without
  Variation variation;                    // of its highest live bytes
};

struct StepProfile {
  std::int64_t number = 0;
  TimeNs time = 0;                    // its length
  std::uint64_t allocations = 0;      // that count once
  std::uint64_t bytes = 0;            // of these
  std::map<int, std::uint64_t> peak;  // by device: the most that was live in driver memory
  bool whole = true;                  // nothing of it was left out: others are never steady
};

struct RunProfile {
  std::vector<SiteProfile> sites;  // by row
  std::vector<StepProfile> steps;  // in order; the last one ends with the log
  // Steady steps: [first, last). The first tenth, at least one, is warm-up, and the last step is
  // cut by the end of the log; with fewer than four steps all are steady.
  std::size_t steady_begin = 0, steady_end = 0;
  // Whether steps can be compared: not if none of them is whole.
  bool HasSteady() const {
    for (std::size_t i = steady_begin; i < steady_end; ++i)
      if (steps[i].whole) return true;
    return steps.empty();
  }
  bool Steady(std::size_t step) const {
    return step >= steady_begin && step < steady_end && steps[step].whole;
  }
};

// `rows` is of a StackAlignment; `sites` its number of places.
RunProfile ProfileRun(const Session& session, const std::vector<std::uint32_t>& rows,
                      std::size_t sites);

}  // namespace memprof::analysis
