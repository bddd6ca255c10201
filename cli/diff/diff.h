// `memprof diff`: the differences of two runs, or of two moments of one.
#pragma once

namespace memprof::cli {

// argv[0] is the verb's name; the result is the exit status.
int DiffVerb(int argc, char** argv);

}  // namespace memprof::cli
