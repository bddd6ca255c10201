// memprof holders: which variables of a running process hold its GPU memory.
#pragma once

namespace memprof::cli {

int HoldersVerb(int argc, char** argv);

}  // namespace memprof::cli
