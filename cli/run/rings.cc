#include "cli/run/rings.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "analysis/log/ring_fold.h"

namespace memprof::cli {

std::string SharedDirectory() {
  const char* directory = getenv("MEMPROF_SHM");
  return directory == nullptr || directory[0] != '/' ? "/dev/shm" : directory;
}

// Running processes are left alone; every verb reads their rings.
void FoldRings(const std::vector<std::string>& logs) {
  for (const std::string& log : logs) {
    const absl::StatusOr<analysis::FoldResult> folded = analysis::FoldRing(log);
    if (!folded.ok() && !absl::IsFailedPrecondition(folded.status()))
      std::cerr << "memprof: the last events stay in shared memory: " << folded.status().message()
                << "\n";
  }
}

void FoldOrphanedRings(const std::vector<std::string>& places) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const std::string& place : places) {
    const std::filesystem::path path = std::filesystem::canonical(place, error);
    if (!error) paths.push_back(path.string());  // no URI, and there
  }
  if (!paths.empty()) analysis::FoldOrphanedRings(SharedDirectory(), paths);
}

}  // namespace memprof::cli
