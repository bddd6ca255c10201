// A recorder that is loaded into a running program (`memprof attach`), and leaves it again.
//
// No call of the program passes through a library that was loaded late: the driver's calls are
// reported by CUPTI, PyTorch's blocks by slots that lead to us (torch/forward.h). One thread of
// ours, "memprof-attach", begins and ends the recording; the program's threads are never stopped,
// nor wait for it. After the end the program is as it was, except that the library stays loaded.
//
//   kNever -> kStarting -> kRecording -> kEnding -> kEnded
//                |  ^                                |
//                v  +--------------------------------+  attached again
//             kFailed
#pragma once

#include <atomic>
#include <cstdint>

#include "libmemprof/src/arch/arch.h"
#include "libmemprof/src/log/log_file.h"

namespace memprof::recorder {

enum class AttachState : std::uint32_t { kNever, kStarting, kRecording, kEnding, kEnded, kFailed };

// Read from outside, as memprof_attach_page. A page of its own, cleared in forked children.
struct alignas(arch::kMaxPageBytes) AttachPage {
  std::atomic<AttachState> state;  // `memprof detach` writes kEnding where it is kRecording
  std::uint32_t layout;            // 1; another one if the members below change
  char log[kMaxPathBytes];         // of the recording
  char error[256];                 // why it failed
};

// Begins to record with `settings`: lines NAME=VALUE with the variables of settings.h, and
//   MEMPROF_ATTACH=ptrace       how the library got in, for the log
//   MEMPROF_FOR=60              ends by itself after so many seconds
//   MEMPROF_PYTHON_BEGIN=CODE   what the program's Python executes once recording has begun
//   MEMPROF_PYTHON_END=CODE     ... and when it ends
// Returns at once; the page tells the rest. Any thread that may call pthread_create.
int Attach(const char* settings);

// Whether the recording of this process is, or will be, one that was attached.
bool IsAttached();

}  // namespace memprof::recorder
