// Reads the lists of installers.
#include "analysis/symbols/internal/installed_files.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "analysis/base/text.h"

namespace memprof::analysis {
namespace {

// PyTorch's list has 2 MB. Folders and lists may be anything: names in a log lead to them.
constexpr std::uintmax_t kMostListBytes = 16 << 20;
constexpr int kMostEntries = 100'000;

// "fusedops" of "fusedops/ops.py,sha256=…,812", for each line.
void AddNames(std::istream& record, std::set<std::string, std::less<>>* names) {
  for (std::string line; std::getline(record, line);) {
    const std::string name = line.substr(0, line.find_first_of("/,"));
    if (!name.empty() && name != ".." && !name.ends_with(".dist-info")) names->insert(name);
  }
}

}  // namespace

const InstalledFiles::Names& InstalledFiles::InstalledIn(std::string_view folder) {
  if (const auto known = folders_.find(folder); known != folders_.end()) return known->second;
  Names& names = folders_[std::string(folder)];
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error), end;
  for (int i = 0; !error && entry != end && i < kMostEntries; entry.increment(error), ++i) {
    if (entry->path().extension() != ".dist-info") continue;
    const std::filesystem::path list = entry->path() / "RECORD";
    std::error_code no_file;
    if (!std::filesystem::is_regular_file(list, no_file) ||
        std::filesystem::file_size(list, no_file) > kMostListBytes)
      continue;
    std::ifstream record(list);
    AddNames(record, &names);
  }
  return names;
}

std::size_t InstalledFiles::PackageAt(std::string_view file) {
  if (!file.starts_with('/') || Contains(file, "-packages/")) return 0;
  const std::lock_guard lock(mutex_);
  for (std::size_t slash = file.rfind('/'); slash > 0; slash = file.rfind('/', slash - 1)) {
    const std::string_view rest = file.substr(slash + 1);
    if (InstalledIn(file.substr(0, slash)).contains(rest.substr(0, rest.find('/'))))
      return slash + 1;
  }
  return 0;
}

}  // namespace memprof::analysis
