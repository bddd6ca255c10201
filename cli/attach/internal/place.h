// Where a program finds what it needs to record, by paths that it knows: those of here, or copies
// if it is in a container that has other files, or another user's.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "cli/attach/internal/program_folder.h"
#include "cli/attach/internal/target.h"

namespace memprof::cli {

struct Place {
  std::string library, python, log;     // python: the agent's folder, or ""
  std::optional<ProgramFolder> folder;  // with the copies
};

// Of the recorder, for a log at `output` as seen from here. Copies what the program cannot see.
absl::StatusOr<Place> MakePlace(const Target& target, const std::string& output, bool python);

// Ends what MakePlace began, once the log is complete: brings a log that lies in the folder to
// `output` and removes the folder. `log` is its path as the program says.
absl::Status LeavePlace(ProgramFolder folder, const std::string& log, const std::string& output);

// `output` with the process and the host in it.
std::string NameOfLog(const std::string& output, pid_t pid);

}  // namespace memprof::cli
