// `memprof diff`: what two runs, or two moments of one, differ by.
#pragma once

namespace memprof::cli {

// argv[0] is the verb's name; the result is the exit status.
int DiffVerb(int argc, char** argv);

}  // namespace memprof::cli
