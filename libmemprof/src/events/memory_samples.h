// Samples of what a device and its pools hold, by which the ledger closes from time to time.
#pragma once

#include <cstdint>

#include "libmemprof/src/recording/thread.h"

namespace memprof::recorder {

// OP_MEMORY_INFO of the current context's device, and OP_POOL_SAMPLE of every pool.
// With `failed`, an allocation has failed: worth a look at what other processes use.
void SampleMemory(ThreadSlot* slot, bool failed = false);
void SampleGraphPool(ThreadSlot* slot, std::int32_t device);
void SamplePools(ThreadSlot* slot);
void SamplePool(ThreadSlot* slot, std::uint64_t pool, std::int32_t device);

}  // namespace memprof::recorder
