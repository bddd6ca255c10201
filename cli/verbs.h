// The verbs of memprof, one function each. argv[0] is the verb's name; the result is the exit
// status. `run` is declared in cli/run.h.
#pragma once

namespace memprof::cli {

int ReportVerb(int argc, char** argv);
int LeaksVerb(int argc, char** argv);
int CategoriesVerb(int argc, char** argv);
int StepsVerb(int argc, char** argv);
int PeakVerb(int argc, char** argv);
int AdviseVerb(int argc, char** argv);
int FragmentationVerb(int argc, char** argv);
int DumpVerb(int argc, char** argv);
int ExportVerb(int argc, char** argv);
int DiffVerb(int argc, char** argv);
int OomVerb(int argc, char** argv);
int ImportVerb(int argc, char** argv);
int ReplayVerb(int argc, char** argv);
int FootprintVerb(int argc, char** argv);
int VerifyVerb(int argc, char** argv);

}  // namespace memprof::cli
