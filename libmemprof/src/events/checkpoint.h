// The steps of a checkpoint. While the process is locked, calls of the driver wait: so these events
// query nothing, and carry no context.
#pragma once

#include <unistd.h>

#include "libmemprof/src/events/call.h"

namespace memprof::recorder {

template <int kStage>
class Checkpoint : public ContextEvent {
 public:
  void Before(Call* call, int pid, void*) {
    own_ = pid == getpid();
    held_ = call->driver()->calls_held();
    if (own_ && kStage == kLock) call->driver()->HoldCalls(true);
  }
  void After(Call* call, CUresult result, int pid, void*) const {
    if (own_ && kStage == kLock && result != CUDA_SUCCESS) call->driver()->HoldCalls(held_);
    if (own_ && kStage == kUnlock && result == CUDA_SUCCESS) call->driver()->HoldCalls(false);
    if (result != CUDA_SUCCESS) return;
    ring::RingEvent event = call->Event(kOpCheckpoint, kLayerNone);
    event.aux0 = kStage;
    event.aux1 = static_cast<std::uint64_t>(pid);
    call->Emit(&event, true);
  }

 private:
  static constexpr int kLock = 1, kUnlock = 4;
  bool own_ = false;
  bool held_ = false;
};
using CheckpointLock = Checkpoint<1>;
using CheckpointSave = Checkpoint<2>;
using CheckpointRestore = Checkpoint<3>;
using CheckpointUnlock = Checkpoint<4>;

}  // namespace memprof::recorder
