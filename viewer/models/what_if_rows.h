// What other allocators would have reserved, as rows to show: made in a job, shown by the view.
// Pure; thread-safe.
#pragma once

#include <QString>
#include <cstdint>
#include <vector>

#include "analysis/allocators/allocator_replay.h"

namespace memprof::viewer {

struct WhatIfRow {
  enum class Kind {
    kRecorded,  // what the log says
    kReplayed,  // the recorded allocator, simulated
    kOther,
    kOptimum,  // the best arrangement found that knows the future
    kBound,    // what no arrangement can do without
  };
  enum class Fits { kYes, kNo, kUnknown };

  Kind kind = Kind::kOther;
  QString name;
  bool own = false;            // asked for by the user
  bool done = false;           // else the figures are still to come
  std::uint64_t reserved = 0;  // bytes, the most
  std::uint64_t used = 0;      // bytes of them that were handed out at some time of the peak
  std::uint64_t segments = 0, calls = 0;  // numbers; 0 = there are none
  std::int64_t saving = 0;                // bytes, against what was recorded
  Fits fits = Fits::kUnknown;
  std::uint64_t failed_bytes = 0;               // of the first request that finds no memory
  std::vector<analysis::CurvePoint> over_time;  // reserved bytes; empty where there is no course

  double unused() const {
    return reserved == 0 ? 0 : 1 - static_cast<double>(used) / static_cast<double>(reserved);
  }
  bool has_saving() const { return done && kind != Kind::kRecorded; }
};

// One device of one process.
struct WhatIfDevice {
  int device = analysis::kNoDevice;
  std::uint32_t process = 0;
  QString title;    // "Device 0", with the process where there are several
  QString source;   // "2,526 requests (framework blocks) on 1 stream"
  QString verdict;  // how well the recorded allocator is understood: one sentence
  QString doubt;    // beside every saving: "exact", "± 4.00 MiB", "unchecked"
  bool uncertain = false;
  std::uint64_t capacity = analysis::allocators::kUnlimited;
  bool capacity_given = false;
  std::vector<WhatIfRow> rows;  // recorded, replayed, others as asked for, optimum, bound
};

// `complete`: nothing is still to come, so that a missing optimum was not sought.
WhatIfDevice DescribeReplay(const analysis::Session& session, const analysis::DeviceReplay& replay,
                            bool complete);
// Adds the others of `replay` to `device`, as the user's own, before optimum and bound; one that is
// there already is replaced.
void AddOwn(const analysis::DeviceReplay& replay, WhatIfDevice* device);

// A scale for bars of all rows: up to the longest, or up to the capacity where that is not so far
// away that the bars could not be told apart.
struct WhatIfScale {
  std::uint64_t most = 1;       // bytes at the right end
  std::uint64_t recorded = 0;   // bytes that were recorded
  bool capacity_shown = false;  // else there is none, or it is `beyond` times the longest bar
  double beyond = 0;
};
WhatIfScale ScaleOf(const WhatIfDevice& device);

// "+2.00 MiB (3.0 %)", "-20.0 MiB (167 %)", "0" of a whole.
QString SignedShare(std::int64_t bytes, std::uint64_t whole);

}  // namespace memprof::viewer
