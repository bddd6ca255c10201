// Texts that `memprof run` keeps in the logs of a program that has ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace memprof::cli {

// Appends to each log of a Python program which lines of the user's the code of torch.compile came
// from; says nothing.
void KeepGeneratedLines(const std::vector<std::string>& logs);

// memprof run --sources: appends to each log the same, and the user's source files that it names
// and that were not changed after `since_unix_ns`. Says in one line how many, or why a log is left
// alone.
void KeepSources(const std::vector<std::string>& logs, std::int64_t since_unix_ns);

}  // namespace memprof::cli
