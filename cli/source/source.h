// `memprof source`: the program's source files, and the lines of one, with their memory.
#pragma once

namespace memprof::cli {

int SourceVerb(int argc, char** argv);

}  // namespace memprof::cli
