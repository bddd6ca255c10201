// Loads the CUPTI source and gives it the recorder's functions (source_api.h).
#pragma once

#include "libmemprof/src/source_api/source_api.h"

namespace memprof::recorder {

class Recorder;

// Loads libmemprof_cupti.so from the directory of this library and starts it. Errors are recorded
// in the log, and never reported to the program. Calls dlopen.
void OpenCuptiSource(Recorder* recorder, SourceScope scope);

// While recording is paused the source does not listen, so that others can use CUPTI. Both do
// nothing without a source, or if it has failed for good.
void StopCuptiSource();
void StartCuptiSource(SourceScope scope);

// Makes the source check whether it still receives callbacks. Called about once a second by the
// recorder's own thread, while recording.
void CheckCuptiSource();

// The table that sources get; for tests.
const RecorderApi& SourceTable();

}  // namespace memprof::recorder
