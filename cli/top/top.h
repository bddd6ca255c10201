// `memprof top`: the memory of programs while they run.
#pragma once

namespace memprof::cli {

// argv[0] is the verb's name; the result is the exit status.
int TopVerb(int argc, char** argv);

}  // namespace memprof::cli
