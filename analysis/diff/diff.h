// Compares two runs, or two moments of one: aligned by step and call site, never by address or
// clock. Method: docs/diff.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/filter/allocation_filter.h"
#include "analysis/peak/stack_alignment.h"
#include "analysis/store/allocation_set.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

enum class DiffFigureKind {
  kPeak,           // bytes of a device
  kReserved,       // bytes of a device: the most that allocators, or the driver, reserved
  kLive,           // bytes of a device, at the end of each run, or at the moments
  kFragmentation,  // a share in percent: free in allocators' segments, at the peak of reserve
  kGrowth,         // bytes per step of all leaks
  kStepTime,       // nanoseconds, the median of steady steps
  kStepBytes,      // allocated in a steady step, the median
  kStepCount,      // allocations in a steady step, the median
  kSteps,
};
std::string_view DiffFigureName(DiffFigureKind kind);

struct DiffFigure {
  DiffFigureKind kind = DiffFigureKind::kPeak;
  int device = kNoDevice;
  double before = 0, after = 0;
  double variation = 0;  // from step to step, in the run where it is larger

  double change() const { return after - before; }
  // Whether the change is no larger than the variation within one run.
  bool within_variation() const {
    return change() != 0 && change() <= variation && -change() <= variation;
  }
};

struct DiffSite {
  std::uint32_t place = 0;              // row of DiffReport::alignment
  std::uint64_t before = 0, after = 0;  // live at the moment compared
  std::uint64_t before_count = 0, after_count = 0;
  double before_step = 0, after_step = 0;      // bytes allocated in a steady step
  double before_growth = 0, after_growth = 0;  // bytes per step, if it is among the leaks
  std::uint64_t variation = 0;                 // from step to step, of its highest live bytes
  bool fresh = false, gone = false;            // only one of the runs has the site

  std::uint64_t size() const { return after > before ? after - before : before - after; }
  bool within_variation() const {
    return before != after && size() <= variation && !fresh && !gone;
  }
};

// A step of both runs: with the same number; or with the same rank, if they have no number in
// common.
struct DiffStep {
  std::int64_t before = 0, after = 0;             // numbers
  std::uint64_t before_peak = 0, after_peak = 0;  // sum over devices of each one's highest
  TimeNs before_time = 0, after_time = 0;
};

struct DiffReport {
  StackAlignment alignment;
  std::vector<DiffFigure> figures;
  std::vector<DiffSite> sites;  // all that changed in any way, by |change|, then by growth
  std::vector<DiffStep> steps;  // empty for two moments
  // in `steps`: where the peaks differ by more than their variation
  std::optional<std::size_t> first_difference;
  TimeNs before_time = 0, after_time = 0;  // of two moments
};

// What the tables of two runs show: the memory live at each device's peak, or at the end.
enum class DiffMoment { kPeak, kEnd };

// Which allocations the sites include, and how to report progress.
struct DiffOptions {
  // The passing allocations of each run; null = all. Sites of which nothing passes are left out;
  // totals, steps and growth include everything.
  const AllocationSet* before = nullptr;
  const AllocationSet* after = nullptr;
  // Checked between the parts of the work; the result is incomplete after a stop.
  std::stop_token stop;
  std::function<void(double)> progress;  // share of the work done, in [0, 1]; rises
};

DiffReport DiffRuns(const Session& before, Symbols& before_symbols, const Session& after,
                    Symbols& after_symbols, DiffMoment moment = DiffMoment::kPeak,
                    const DiffOptions& options = {});
// Compares the states after the events `from` and `to`; none = before the first event. For several
// comparisons use MomentDiff (analysis/diff/moments.h).
DiffReport DiffMoments(const Session& session, Symbols& symbols, EventId from, EventId to,
                       const DiffOptions& options = {});

}  // namespace memprof::analysis
