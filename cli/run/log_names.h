// Names of logs: what the recorder makes of a pattern, a value of MEMPROF_OUTPUT.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

// The folders of a pattern before the first whose name varies: the recorder makes the others.
std::string FixedFolder(const std::string& pattern);

// Files whose names the recorder may have made of the pattern. If a name is taken, it inserts
// ".PID" or ".PID.N" before the extension.
std::vector<std::string> FilesOfPattern(const std::string& pattern);

// What a shell expands to the logs of a pattern: "run.*.mprof".
std::string PatternOfLogs(const std::string& output);

}  // namespace memprof::cli
