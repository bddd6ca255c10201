// Whether a stream is being captured into a graph. Asks the driver.
#pragma once

#include <cstdint>

#include "libmemprof/src/driver/api.h"

namespace memprof::recorder {

// Whether the stream, as the function means it, is being captured; `graph`, if given, gets the
// graph that its calls become nodes of, or null where the driver does not say.
bool Capturing(FunctionId id, CUstream stream, CUgraph* graph = nullptr);
// The driver's id of the capture that goes on in `stream`, unique in the process; 0 = none.
std::uint64_t CaptureId(CUstream stream);

}  // namespace memprof::recorder
