// The run that a log describes, and the recording itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/base/types.h"

namespace memprof::analysis {

// The budget of a recording that is always on; all 0 where every event was kept.
struct AlwaysOn {
  std::uint64_t budget_bytes = 0, period_ns = 0;
  std::uint32_t segment = 0;
};

// The end reason of a log that was converted from another tool's file.
inline constexpr char kImportReason[] = "import";

struct RunInfo {
  std::string executable;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::string working_directory, hostname, recorder_version;
  std::uint32_t pid = 0;
  TimeNs start_time = 0;  // of the log
  TimeNs end_time = 0;    // last event or trailer
  std::uint64_t start_unix_ns = 0;
  bool complete = false;  // the trailer is there: a clean end
  bool growing = false;   // the process still runs and the log may grow
  std::string end_reason;
  std::string torch_release;  // "2.15.0+cu132"; "" = no PyTorch, or the log does not say
  bool attached = false;      // `memprof attach`: the program ran already when the log began
  // When what was allocated before is said to be, before all events: before `memprof attach`, or
  // before an imported history or a later segment begins. 0 = no such memory.
  TimeNs before_attach = 0;
  AlwaysOn always_on;

  // Converted from another tool's file.
  bool imported() const { return end_reason == kImportReason; }
};

struct SelfAccounting {
  std::uint64_t events = 0, events_written = 0, bytes_written = 0, hook_time_ns = 0,
                writer_cpu_ns = 0, resident_bytes = 0, stacks = 0;
};

}  // namespace memprof::analysis
