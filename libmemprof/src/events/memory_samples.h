// Samples of the memory that a device and its pools hold. Readers use them to check their sums
// against the driver's figures.
#pragma once

#include <cstdint>

#include "libmemprof/src/recording/thread.h"

namespace memprof::recorder {

// Records OP_MEMORY_INFO of the current context's device, and OP_POOL_SAMPLE of every pool. With
// `failed`, an allocation has failed: then the memory of other processes is queried too.
void SampleMemory(ThreadSlot* slot, bool failed = false);
void SampleGraphPool(ThreadSlot* slot, std::int32_t device);
void SamplePools(ThreadSlot* slot);
void SamplePool(ThreadSlot* slot, std::uint64_t pool, std::int32_t device);

}  // namespace memprof::recorder
