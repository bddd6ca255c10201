// `memprof footprint`: predicts the memory for an input of another size.
#pragma once

namespace memprof::cli {

// argv[0] is the verb's name; the result is the exit status.
int FootprintVerb(int argc, char** argv);

}  // namespace memprof::cli
