// What `memprof run` says of its logs at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace memprof::cli {

// Which logs there are, at least one, and the command that comes next, to be pasted into a shell.
// Of more ranks than a few, of which this run may have had one, the next is the map of a fleet.
std::string RecordedText(const std::vector<std::string>& logs, const std::string& output,
                         std::int64_t ranks);

// How many ranks the job has, by the launcher's variables; 1 if there is none.
std::int64_t RanksOfJob();

}  // namespace memprof::cli
