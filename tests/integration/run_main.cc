// memprof with the verb `run` only, so that it can be tested without the other verbs.
#include "cli/run/run.h"

int main(int argc, char** argv) { return memprof::cli::RunVerb(argc - 1, argv + 1); }
