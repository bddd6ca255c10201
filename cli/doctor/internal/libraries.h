// Libraries as the loader finds them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/doctor/internal/machine.h"

namespace memprof::cli::doctor {

// Name and path of the libraries in the loader's cache (/etc/ld.so.cache) for x86-64, or for ARM.
// Empty if `bytes` is no such file; what is damaged is left out.
std::vector<std::pair<std::string, std::string>> ReadLoaderCache(std::string_view bytes, bool arm);

// The files whose names begin with `prefix` ("libcuda.so.1", "libcudart.so."), each once, in the
// order in which the loader searches: LD_LIBRARY_PATH, its cache, its own folders.
std::vector<std::string> LibrariesOnPath(const Machine& machine, const std::string& prefix);

// The same in the given folders.
std::vector<std::string> LibrariesIn(const Machine& machine,
                                     const std::vector<std::string>& folders,
                                     const std::string& prefix);

// Appends the paths of `more` that lead to other files than those of `paths`.
void AddOthers(const Machine& machine, const std::vector<std::string>& more,
               std::vector<std::string>* paths);

// Folders of CUDA toolkits: CUDA_HOME and the like, /usr/local/cuda*.
std::vector<std::string> ToolkitFolders(const Machine& machine);

}  // namespace memprof::cli::doctor
