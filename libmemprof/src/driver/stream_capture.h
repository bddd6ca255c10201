// Whether a stream is being captured into a graph. Queries the driver.
#pragma once

#include <cstdint>

#include "libmemprof/src/driver/api.h"

namespace memprof::recorder {

// Whether the stream of a call of this function is being captured. `graph`, if given, gets the
// graph that receives the nodes, or null where the driver does not report it.
bool Capturing(FunctionId id, CUstream stream, CUgraph* graph = nullptr);
// The driver's id of the capture of `stream`, unique in the process; 0 = none.
std::uint64_t CaptureId(CUstream stream);

}  // namespace memprof::recorder
