// memprof run --sources: the text of the program's source files in its logs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace memprof::cli {

// Appends to each log the user's source files that it names and that were not changed after
// `since_unix_ns`. Says in one line how many, or why a log is left alone.
void KeepSources(const std::vector<std::string>& logs, std::int64_t since_unix_ns);

}  // namespace memprof::cli
