// Keeps the loader's list lock, and the unwinder's own locks, free at the moment of a fork.
//
// Unwinding and reading the list of modules take locks inside libc and libunwind. If a thread held
// such a lock at a fork, the child would hang at its next exception, dlopen or recorded call. So
// every such use in the recorder is a LoaderSection. The fork handler closes the gate: it waits
// until no thread is inside a section, and keeps new ones out until the fork is done. Entering and
// leaving a section costs two plain stores; the fork pays for the synchronisation (membarrier).
#pragma once

#include <atomic>
#include <cstdint>

#include "libmemprof/src/base/sys.h"

namespace memprof::recorder {

// One per thread that uses the loader; must not move once it is registered.
struct LoaderFlag {
  std::atomic<std::uint32_t> inside{0};
  LoaderFlag* next = nullptr;
};

// Adds the flag to those that the gate checks. Once per flag.
void RegisterLoaderFlag(LoaderFlag* flag);

class LoaderSection {
 public:
  // Without a flag there is no section: for a thread that could not be bound to the recording.
  explicit LoaderSection(LoaderFlag* flag);
  ~LoaderSection() {
    if (flag_ != nullptr) flag_->inside.store(0, std::memory_order_release);
  }
  LoaderSection(const LoaderSection&) = delete;
  LoaderSection& operator=(const LoaderSection&) = delete;

 private:
  // A flag that stays set would delay every fork, and a lock of the loader stop every thread.
  SignalsOff signals_off_;
  CancellationOff cancellation_off_;
  LoaderFlag* flag_;
};

// Close: before a fork, waiting at most 50 ms. Open: after the fork, in the parent.
void CloseLoaderGate();
void OpenLoaderGate();
// After the fork, in the child: drops all flags, as its only thread is in no section.
void ResetLoaderGate();

}  // namespace memprof::recorder
