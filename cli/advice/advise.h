// `memprof advise`: inefficient use of memory or transfers.
#pragma once

namespace memprof::cli {

// argv[0] is the verb's name; the result is the exit status.
int AdviseVerb(int argc, char** argv);

}  // namespace memprof::cli
