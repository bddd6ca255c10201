// What the program that is run inherits: the recorder, and where asked for the stand-in CUDA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace memprof::cli {

// RunOptions::sim where no SPEC was given.
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

// Sets the environment that `program` will inherit.
absl::Status SetEnvironment(const RunOptions& options, const std::string& shared_devices,
                            const std::vector<std::string>& program);

// Says where the program cannot be recorded; an error where it would die of that.
absl::StatusOr<bool> CanRecord(const std::vector<std::string>& program);

}  // namespace memprof::cli
