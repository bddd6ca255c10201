// `memprof oom`: why a request for memory failed.
#pragma once

namespace memprof::cli {

// argv[0] is the verb's name; the result is the exit status.
int OomVerb(int argc, char** argv);

}  // namespace memprof::cli
