// memprof serve: the other end of `memprof view ssh://…`.
#pragma once

namespace memprof::cli {

int ServeVerb(int argc, char** argv);

}  // namespace memprof::cli
