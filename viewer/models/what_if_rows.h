// What other allocators would have reserved, as rows: made in a job, shown by the view. Pure;
// thread-safe.
#pragma once

#include <QString>
#include <cstdint>
#include <vector>

#include "analysis/allocators/allocator_replay.h"

namespace memprof::viewer {

struct WhatIfRow {
  enum class Kind {
    kRecorded,  // figures of the log
    kReplayed,  // the recorded allocator, simulated
    kOther,
    kOptimum,  // the best arrangement found that knows all requests
    kBound,    // the lower bound of all arrangements
  };
  enum class Fits { kYes, kNo, kUnknown };

  Kind kind = Kind::kOther;
  QString name;
  bool own = false;            // added by the user
  bool done = false;           // else the figures are still to come
  std::uint64_t reserved = 0;  // bytes, the most
  std::uint64_t used = 0;      // bytes of them that were allocated at some time of the peak
  std::uint64_t segments = 0, calls = 0;  // numbers; 0 = there are none
  std::int64_t saving = 0;                // bytes, against what was recorded
  Fits fits = Fits::kUnknown;
  std::uint64_t failed_bytes = 0;               // of the first request that fails
  std::vector<analysis::CurvePoint> over_time;  // reserved bytes; empty if there is no curve

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
  QString verdict;  // how well the recorded allocator is simulated: one sentence
  QString doubt;    // beside every saving: "exact", "± 4.00 MiB", "unchecked"
  bool uncertain = false;
  std::uint64_t capacity = analysis::allocators::kUnlimited;
  bool capacity_given = false;
  std::vector<WhatIfRow> rows;  // recorded, replayed, others in order, optimum, bound
};

// `complete`: no figure is outstanding, so a missing optimum was not searched.
WhatIfDevice DescribeReplay(const analysis::Session& session, const analysis::DeviceReplay& replay,
                            bool complete);
// Adds the others of `replay` to `device`, as the user's own, before optimum and bound; replaces
// one with the same name.
void AddOwn(const analysis::DeviceReplay& replay, WhatIfDevice* device);

// The scale of the bars of all rows: up to the longest bar, or up to the capacity, unless bars
// would become too short to compare.
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
