// Whether this process records. Read by every hook, written only by lifecycle/.
//
//      first use of a device, memprof_start             memprof_stop
//   kIdle ------------------------------> kRecording <--------------> kPaused
//     |  MEMPROF_START=paused                  |         memprof_start
//     +---------> kWaiting --memprof_start-->  |  log cannot be written
//     +---------> kOff (MEMPROF_DISABLE)   <---+
//
// A signal (MEMPROF_SIGNAL) changes kWaiting to kWanted, and the next CUDA call begins the
// recording; while there is a writer thread, that thread stops and resumes for the signal.
//
// A forked child begins in kIdle, because the kernel clears the page of the mode. It records to a
// log of its own, once it uses a device after its own cuInit, or calls memprof_start.
#pragma once

#include <atomic>
#include <cstdint>

#include "libmemprof/src/arch/arch.h"

namespace memprof::recorder {

enum class Mode : std::uint32_t {
  kIdle = 0,  // 0, because the kernel clears the page in a forked child
  kStarting,
  kRecording,
  kPaused,
  kWaiting,
  kOff,
  kWanted,
};

// A page of its own, cleared in forked children.
struct alignas(arch::kMaxPageBytes) ControlPage {
  std::atomic<std::uint64_t> epoch;  // of this recording; 0 while nothing is recorded
  std::atomic<Mode> mode;
  std::atomic<std::uint32_t> ending;  // the process is exiting: every event is written at once
};
extern ControlPage g_control;

// What was set before the recording began can be used where this is true.
inline bool Recording() { return g_control.epoch.load(std::memory_order_acquire) != 0; }

}  // namespace memprof::recorder
