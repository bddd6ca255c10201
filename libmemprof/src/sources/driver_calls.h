// Driver calls that a source tells of (SourceCall): from the two halves of a call, as members of a
// structure, to the events of events/.
#pragma once

#include "libmemprof/src/source_api/source_api.h"

namespace memprof::recorder {

// The number by which a source names the function; -1 where its calls are no events.
int DriverFunctionId(const char* name);
void RecordDriverCall(const SourceCall& told);
// Before a source listens anew: the exits of calls that it saw before may never come.
void ForgetDriverCalls();

}  // namespace memprof::recorder
