// memprof doctor: what this machine allows memprof to record.
#pragma once

namespace memprof::cli {

// argv[0] is "doctor". 0: programs can be recorded; 1: they cannot; 2: wrong usage.
int DoctorVerb(int argc, char** argv);

}  // namespace memprof::cli
