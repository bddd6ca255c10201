// memprof run: starts a program with the recorder preloaded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace memprof::cli {

// argv[0] is "run". Returns the program's exit status, 128 + n if signal n ended it, 127 if it
// could not be found, 126 if it could not be started, 1 if recording could not be set up, 2 for
// wrong usage.
int RunVerb(int argc, char** argv);

// The parts of it that can be tested alone.

// Where `argv` ends to be options of `run` and begins to be the program: the index of the program
// (or argc), `--` skipped.
int ProgramIndex(int argc, char** argv);

// Where the recorder and the stand-in CUDA are, seen from the directory of the memprof program: a
// build tree has ../lib and ../simcuda, an installed prefix ../lib and ../lib/memprof/simcuda.
absl::StatusOr<std::string> FindRecorder(const std::string& program_directory);
absl::StatusOr<std::string> FindStandIn(const std::string& program_directory);
// The folder that puts the agent into a Python that has it in PYTHONPATH.
absl::StatusOr<std::string> FindAgent(const std::string& program_directory);

// Makes room for a log at `path`: a log of memprof or an empty file there is removed, anything
// else is an error, and so is a folder that cannot be written to. Paths with % are patterns that
// only the recorder can expand: just their folder is checked.
absl::Status PrepareOutput(const std::string& path);

// The logs that match the pattern of MEMPROF_OUTPUT and were written after `since_unix_ns`, oldest
// first. The recorder inserts ".PID" or ".PID.N" before the extension where a name is taken.
std::vector<std::string> FindLogs(const std::string& pattern, std::int64_t since_unix_ns);

// What a shell expands to the logs of `output`, a value of MEMPROF_OUTPUT: "run.*.mprof".
std::string PatternOfLogs(const std::string& output);

// `value` in front of a colon-separated list.
std::string Prepend(const std::string& value, const char* list);

}  // namespace memprof::cli
