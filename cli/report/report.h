// `memprof report`: the whole run on a page or two.
#pragma once

namespace memprof::cli {

// argv[0] is the verb's name; the result is the exit status.
int ReportVerb(int argc, char** argv);

}  // namespace memprof::cli
