// The source as the rest of this library sees it; the recorder sees memprof_source_open alone.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace memprof::cupti {

// CUPTI gave up (it finalises itself then). Called in a callback.
void OnFatalError(int result, const char* message);

// The ordinal of a context's device, or kCurrentDevice when CUPTI does not say.
std::int32_t DeviceOfContext(CUcontext context);

}  // namespace memprof::cupti
