// Whether a stopped thread may be interrupted for a call of the C library's pthread_create, judged
// by the functions on its stack.
#pragma once

#include <sys/types.h>

#include <memory>

namespace memprof::cli {

class SafeStacks {
 public:
  // For one process, or a thread of it that lives. What is loaded there is read now, while nothing
  // is stopped.
  explicit SafeStacks(pid_t pid);
  ~SafeStacks();
  SafeStacks(const SafeStacks&) = delete;
  SafeStacks& operator=(const SafeStacks&) = delete;

  // The thread is stopped by the calling thread (ptrace). No if it cannot be told; `whole`: that
  // too if its stack cannot be followed to its end, because of code without unwind tables.
  bool MayInterrupt(pid_t thread, bool whole);

 private:
  struct Process;
  std::unique_ptr<Process> process_;
};

}  // namespace memprof::cli
