// The name of a log, from the pattern that MEMPROF_OUTPUT gives.
//
//   %p  the process id              %h  the host's name           %%  %
//   %j  the job: the first of SLURM_JOB_ID, TORCHELASTIC_RUN_ID, ... that is set, else "job"
//   %r  the rank in it: RANK, OMPI_COMM_WORLD_RANK, ..., else "rank"
//
// Of a value, what is no letter, digit, '.', '_' or '-' becomes '_', so that it is a part of a name
// and no path; two processes with the same name get different files (LogFile::Create).
#pragma once

#include <cstddef>

namespace memprof::recorder {

// False when the result does not fit into `size` bytes.
bool ExpandOutput(const char* pattern, char* path, std::size_t size);

// Where the extension of a path's last component begins; its length if there is none.
std::size_t ExtensionAt(const char* path);

// Makes the folders of an expanded path that are missing, as many as the pattern has "%j" and the
// like in their names. Returns 0 or an errno.
int MakeFolders(const char* pattern, const char* path);

}  // namespace memprof::recorder
