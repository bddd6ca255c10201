// The environment of the program that is run: the recorder and, if requested, the stand-in CUDA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/run/loadable.h"
#include "cli/run/watcher.h"

namespace memprof::cli {

// RunOptions::sim without a SPEC.
inline constexpr char kNoSpec[] = "default";

struct RunOptions {
  std::string output = "memprof.%p.mprof";
  std::string sim;  // empty = the machine's own CUDA
  std::string source;
  std::string signal;
  std::string unrecorded = "start";  // what to do with a program that cannot be recorded
  std::int64_t stack_depth = -1;
  std::int64_t ring_events = -1;
  std::string upload;  // a URI; empty = nothing
  std::int64_t upload_limit_s = 30;
  WatcherOptions watcher;
  std::int64_t memory_mib = -1;
  bool cupti = false;
  bool start_paused = false;
  bool verbose = false;
  std::string always_on;  // as the recorder reads it; empty = everything is recorded
  bool scan = false;
  bool torch = false;
  bool holders = false;  // implies torch
  bool sources = false;  // keep them in the logs
};

// Sets the environment that `program` inherits. Without `preload`, the recorder is not in it.
absl::Status SetEnvironment(const RunOptions& options, const std::string& shared_devices,
                            const std::vector<std::string>& program, bool preload);

// Whether the program can be recorded; an error if that shall stop it.
absl::StatusOr<Loadable> CanRecord(const RunOptions& options,
                                   const std::vector<std::string>& program);

}  // namespace memprof::cli
