// Handlers of external memory and pointers of other processes' pools, of advice on managed memory,
// and of checkpoints.
#pragma once

#include "cupti_hooks/src/call.h"
#include "cupti_hooks/src/driver_params.h"

namespace memprof::cupti {

void ImportExternal(const Call& call);
void MapExternalBuffer(const Call& call);
void DestroyExternal(const Call& call);
void ImportPoolPointer(const Call& call);

void Prefetch(const Call& call);
void PrefetchTo(const Call& call);
void Advise(const Call& call);
void AdviseAbout(const Call& call);

void ReportCheckpoint(const Call& call, int stage);
template <int kStage>
void Checkpoint(const Call& call) {
  ReportCheckpoint(call, kStage);
}

}  // namespace memprof::cupti
