// Loads the CUPTI source and offers it the recorder (source_api.h).
#pragma once

#include "libmemprof/src/source_api.h"

namespace memprof::recorder {

class Recorder;

// Loads libmemprof_cupti.so from beside this library and starts it; `allocations`: it is the only
// source of them. What goes wrong is told in the log, never to the program. Calls dlopen.
void OpenCuptiSource(Recorder* recorder, bool allocations);

// The table given to sources; for tests.
const RecorderApi& SourceTable();

}  // namespace memprof::recorder
