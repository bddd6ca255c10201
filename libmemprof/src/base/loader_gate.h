// Keeps the loader's list lock, and the unwinder's own locks, free at the moment of a fork.
//
// Unwinding and looking at the list of modules take locks inside libc and libunwind. A child that
// was forked while another thread held one of them would wait for ever at its next exception,
// dlopen or recorded call. So every such use by the recorder is a LoaderSection, and the fork
// handler closes the gate: it waits until no thread is inside, and lets none in until the fork is
// done. Entering and leaving costs two plain stores; the fork pays for the rest (membarrier).
#pragma once

#include <atomic>
#include <cstdint>

#include "libmemprof/src/base/sys.h"

namespace memprof::recorder {

// One per thread that uses the loader; must stay where it is once registered.
struct LoaderFlag {
  std::atomic<std::uint32_t> inside{0};
  LoaderFlag* next = nullptr;
};

// Makes the flag known to the gate. Once per flag.
void RegisterLoaderFlag(LoaderFlag* flag);

class LoaderSection {
 public:
  // Without a flag there is no section: for a thread that could not be bound.
  explicit LoaderSection(LoaderFlag* flag);
  ~LoaderSection() {
    if (flag_ != nullptr) flag_->inside.store(0, std::memory_order_release);
  }
  LoaderSection(const LoaderSection&) = delete;
  LoaderSection& operator=(const LoaderSection&) = delete;

 private:
  CancellationOff cancellation_off_;  // a flag of a thread that is gone would delay every fork
  LoaderFlag* flag_;
};

// Before a fork, waiting at most 50 ms, and after it in the parent.
void CloseLoaderGate();
void OpenLoaderGate();
// After it in the child, whose only thread is inside nothing: forgets all flags.
void ResetLoaderGate();

}  // namespace memprof::recorder
