// `memprof export`: the log in the format of another tool.
#pragma once

namespace memprof::cli {

// argv[0] is the verb's name; the result is the exit status.
int ExportVerb(int argc, char** argv);

}  // namespace memprof::cli
