// The environment of the program that is run: the recorder and, if requested, the stand-in CUDA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace memprof::cli {

// RunOptions::sim without a SPEC.
inline constexpr char kNoSpec[] = "default";

struct RunOptions {
  std::string output = "memprof.%p.mprof";
  std::string sim;  // empty = the machine's own CUDA
  std::string source;
  std::string signal;
  std::int64_t stack_depth = -1;
  std::int64_t ring_events = -1;
  std::int64_t memory_mib = -1;
  bool cupti = false;
  bool start_paused = false;
  bool verbose = false;
  bool scan = false;
  bool torch = false;
};

// Sets the environment that `program` inherits.
absl::Status SetEnvironment(const RunOptions& options, const std::string& shared_devices,
                            const std::vector<std::string>& program);

// Reports when the program cannot be recorded; an error if the recorder would make it fail.
absl::StatusOr<bool> CanRecord(const std::vector<std::string>& program);

}  // namespace memprof::cli
