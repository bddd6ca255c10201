// memprof with only the verb `run`, so that it can be tested apart from the other verbs.
#include "cli/run/run.h"

int main(int argc, char** argv) { return memprof::cli::RunVerb(argc - 1, argv + 1); }
