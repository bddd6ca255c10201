// What other files of this library use of the source. The recorder only uses memprof_source_open.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace memprof::cupti {

// CUPTI reported a fatal error, after which it finalises itself. Called in a callback.
void OnFatalError(int result, const char* message);

// The ordinal of a context's device; kCurrentDevice when CUPTI does not report one.
std::int32_t DeviceOfContext(CUcontext context);

}  // namespace memprof::cupti
