// The list of the logs of one `memprof run`, so that it need not search for them among those of
// other runs.
#pragma once

namespace memprof::recorder {

// Adds `log` to the file `list`, which memprof run has made on this host: nothing is created here,
// and a file that is not such a list, or is long, stays as it is.
void AddToRunList(const char* list, const char* log);

}  // namespace memprof::recorder
