// Loads log files as a Session.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analysis/base/progress.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

class NamesElsewhere;  // analysis/symbols/names_elsewhere.h

// What another machine told of a log there, of which a copy is read here.
struct Elsewhere {
  std::shared_ptr<const NamesElsewhere> names;
  bool growing = false;  // its process still records; the ring is in the copy if it does not
};

struct LoadOptions {
  ProgressFunction progress;
  // If the program marked no steps: use those of its ranges or of its pattern, if they are certain
  // enough (analysis/steps/found.h).
  bool find_steps = true;
  bool recover_ring = true;      // after an unclean end, also read what was not yet drained
  std::uint64_t max_events = 0;  // of each log; 0 = all
  bool tables_only = false;      // no events: devices, modules, names, stacks
  // Of a copy of a log on another machine, what that told; null for others. Empty: all are of here.
  std::function<const Elsewhere*(const std::string& file)> elsewhere;
  // What the session calls a file, for one that was made of what the user named; empty: its path.
  std::function<std::string(const std::string&)> name;
  // Of several logs, skip those that cannot be read, and pass the reason to this function. If it is
  // empty, one of them is an error, as is a set without any readable log.
  std::function<void(const absl::Status&)> skipped;
};

// Reads logs, also cut or still growing ones. Several logs become one session: the processes of a
// job, on one machine or on many. Equal devices are merged, clocks are aligned, and sites of the
// same code are merged (see analysis/load/internal/merge.h).
//
// Errors: kNotFound, kPermissionDenied, kInvalidArgument (no log at all, not a memprof log, empty,
// a future version, the same log twice, more than 255), kDataLoss (damaged so that nothing can be
// read), kCancelled. Messages are one line and name the file.
absl::StatusOr<std::shared_ptr<const Session>> LoadLogs(const std::vector<std::string>& paths,
                                                        const LoadOptions& options = {});

}  // namespace memprof::analysis
