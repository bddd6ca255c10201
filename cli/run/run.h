// memprof run: starts a program with the recorder preloaded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/always_on.h"

namespace memprof::cli {

// argv[0] is "run". Returns the program's exit status, 128 + n if signal n ended it, 127 if it
// could not be found, 126 if it could not be started, 1 if recording could not be set up, 2 for
// wrong usage.
int RunVerb(int argc, char** argv);

// Parts of it, for tests.

// Where the options of `run` in `argv` end and the program begins: the index of the program (or
// argc), `--` skipped.
int ProgramIndex(int argc, char** argv);

// The recorder and the stand-in CUDA, relative to the directory of the memprof program: a build
// tree has ../lib and ../simcuda, an installed prefix ../lib and ../lib/memprof/simcuda.
absl::StatusOr<std::string> FindRecorder(const std::string& program_directory);
absl::StatusOr<std::string> FindStandIn(const std::string& program_directory);
// The folder that, in PYTHONPATH, loads the agent into Python.
absl::StatusOr<std::string> FindAgent(const std::string& program_directory);

// Prepares `path` for a log: removes a log of memprof or an empty file there; anything else is an
// error, and so is a folder that is not writable. For a path with %, a pattern that only the
// recorder can expand, only the folder is checked. Of a recording that is always on the last log
// becomes a segment (segments.h).
absl::Status PrepareOutput(const std::string& path, const log::AlwaysOnBudget& always_on = {});
// The same, but nothing is removed: whether there is something that PrepareOutput would remove.
absl::StatusOr<bool> CheckOutput(const std::string& path);
// Whether the file is empty or begins as a log does; an errno if it cannot be read.
absl::StatusOr<bool> MayBeReplaced(const std::string& path);

// `value`, followed by a colon-separated list.
std::string Prepend(const std::string& value, const char* list);

}  // namespace memprof::cli
