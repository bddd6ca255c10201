// The verbs for log files.
#pragma once

namespace memprof::cli {

// argv[0] is the verb's name; the result is the exit status.
int DumpVerb(int argc, char** argv);
int ImportVerb(int argc, char** argv);
int VerifyVerb(int argc, char** argv);

}  // namespace memprof::cli
