// A recorder that is loaded into a running program (`memprof attach`), and leaves it again.
//
// No call of the program passes through a library that was loaded late: the driver's calls are
// reported by CUPTI, PyTorch's blocks by slots that lead to us (torch/forward.h). One thread of
// ours, "memprof-attach", begins and ends the recording; the program's threads are never stopped,
// nor wait for it. After the end the program is as it was, except that the library stays loaded.
// How far it is, the page of proto/attach_page.h tells.
#pragma once

namespace memprof::recorder {

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
