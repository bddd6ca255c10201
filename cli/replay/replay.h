// `memprof replay`: the same requests with other allocators.
#pragma once

namespace memprof::cli {

// argv[0] is the verb's name; the result is the exit status.
int ReplayVerb(int argc, char** argv);

}  // namespace memprof::cli
