// Driver calls that a source passes on (SourceCall): turns entry and exit of a call, with the
// parameters as members of a structure, into the events of events/.
#pragma once

#include "libmemprof/src/source_api/source_api.h"

namespace memprof::recorder {

// The number of a function for SourceCall; -1 if it has no events.
int DriverFunctionId(const char* name);
void RecordDriverCall(const SourceCall& half);
// When a source begins to listen again: the exits of earlier calls may never come.
void ClearDriverCalls();

}  // namespace memprof::recorder
