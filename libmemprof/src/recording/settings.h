// Settings of the recorder from the environment. README and `memprof run --help` describe the
// variables for users.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/log/log_file.h"
#include "proto/always_on.h"

namespace memprof::recorder {

struct Settings {
  char output[kMaxPathBytes] = "memprof.%p.mprof";  // MEMPROF_OUTPUT
  bool disabled = false;                            // MEMPROF_DISABLE=1
  bool start_paused = false;                        // MEMPROF_START=paused
  int stack_depth = 64;            // MEMPROF_STACK_DEPTH: 0 (no stacks) to kMaxStackDepth
  std::uint64_t ring_events = 0;   // MEMPROF_RING_EVENTS: events that all rings together hold
  std::uint64_t memory_bytes = 0;  // MEMPROF_MEMORY_MIB: most that the recorder may hold
  std::uint64_t rest_ms = 1000;    // MEMPROF_WRITE_MS: how often the log is written at least
  bool driver = true;              // MEMPROF_SOURCE: the hooks record allocations
  bool cupti = false;              // ... or MEMPROF_CUPTI=1: libmemprof_cupti.so is loaded
  bool uses = true;                // ... also for launches and copies, not only for allocations
  bool verbose = false;            // MEMPROF_VERBOSE=1
  bool scan_at_exit = false;       // MEMPROF_SCAN=1: host_scan.h
  char shared_directory[256] = "/dev/shm";  // MEMPROF_SHM: where the ring is put first
  char run_list[512] = "";                  // MEMPROF_RUN: proto/run_list.h
  log::AlwaysOnBudget always_on;            // MEMPROF_ALWAYS_ON
  bool agent = false;             // MEMPROF_AGENT: the program has the agent of memprof run --torch
  bool begins_by_itself = false;  // at the first CUDA call: if it is preloaded, or has an output
};

using EnvironmentLookup = const char* (*)(const char* name);

// Reads the variables through `lookup`. Reports an invalid value once on stderr, and uses the
// default.
Settings ReadSettings(EnvironmentLookup lookup, bool preloaded);

}  // namespace memprof::recorder
