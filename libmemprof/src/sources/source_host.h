// Loads the CUPTI source and offers it the recorder (source_api.h).
#pragma once

#include "libmemprof/src/source_api/source_api.h"

namespace memprof::recorder {

class Recorder;

// Loads libmemprof_cupti.so from beside this library and starts it; `allocations`: it is the only
// source of them. What goes wrong is told in the log, never to the program. Calls dlopen.
void OpenCuptiSource(Recorder* recorder, bool allocations);

// While recording is paused the source does not listen: CUPTI is free for others meanwhile. Both do
// nothing where there is no source, or it was refused for good.
void StopCuptiSource();
void StartCuptiSource(bool allocations);

// Has the source find out whether CUPTI still serves it. To be called about once a second by the
// recorder's own thread, while recording.
void CheckCuptiSource();

// The table given to sources; for tests.
const RecorderApi& SourceTable();

}  // namespace memprof::recorder
