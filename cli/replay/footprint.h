// `memprof footprint`: the memory that an input of another size will take.
#pragma once

namespace memprof::cli {

// argv[0] is the verb's name; the result is the exit status.
int FootprintVerb(int argc, char** argv);

}  // namespace memprof::cli
