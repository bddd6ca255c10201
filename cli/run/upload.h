// `memprof run --upload URI`: hands the finished logs to a store of objects.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace memprof::cli {

// Starts Python to copy `logs` below `uri`, with their names from `folder` on, and waits at most
// `most_s` seconds for it; if it needs longer, it goes on in the background. Says on standard error
// what happened. The logs stay where they are. For a process without other threads.
void UploadLogs(const std::vector<std::string>& logs, const std::string& folder,
                const std::string& uri, std::int64_t most_s);

}  // namespace memprof::cli
