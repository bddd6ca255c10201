// The recorder's shared memory, of which killed processes leave what they had not written.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

// Where it is: MEMPROF_SHM or /dev/shm.
std::string SharedDirectory();

// Appends it to these logs, where their processes have ended. Says what could not be done.
void FoldRings(const std::vector<std::string>& logs);

// The same for logs of this user in these places (logs, folders) whose processes ran on this host,
// and had nobody to look after them. Says nothing.
void FoldOrphanedRings(const std::vector<std::string>& places);

}  // namespace memprof::cli
