// Whether this process records. Read by every hook, written by lifecycle/ alone.
//
//      first use of a device, memprof_start             memprof_stop
//   kIdle ------------------------------> kRecording <--------------> kPaused
//     |  MEMPROF_START=paused                  |         memprof_start
//     +---------> kWaiting --memprof_start-->  |  log cannot be written
//     +---------> kOff (MEMPROF_DISABLE)   <---+
//
// MEMPROF_SIGNAL makes kWaiting kWanted, from where the next CUDA call goes on; while there is a
// writer thread, that one stops and resumes on behalf of the signal.
//
// A forked child finds itself in kIdle again, because the page that holds the mode is wiped by the
// kernel; it records once it uses a device after a cuInit of its own, or calls memprof_start, into
// a log of its own.
#pragma once

#include <atomic>
#include <cstdint>

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
struct alignas(4096) ControlPage {
  std::atomic<std::uint64_t> epoch;  // of this recording; 0 while nothing is recorded
  std::atomic<Mode> mode;
  std::atomic<std::uint32_t> ending;  // the process is exiting: every event is written at once
};
extern ControlPage g_control;

inline bool Recording() { return g_control.epoch.load(std::memory_order_relaxed) != 0; }

}  // namespace memprof::recorder
