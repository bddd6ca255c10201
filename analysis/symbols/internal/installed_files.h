// Files of Python packages that are in no folder "site-packages", as `pip install --target` makes
// them: beside a package its installer writes NAME.dist-info/RECORD, a list of what it installed.
// What lies beside that and is in no list is the program's own.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace memprof::analysis {

// Reads each folder once, on this machine. Thread-safe.
class InstalledFiles {
 public:
  // Where in the path the part from its package on begins ("fusedops/ops.py"); 0 if no list above
  // it has the package, or the path says by itself that it is of one.
  std::size_t PackageAt(std::string_view file);

 private:
  using Names = std::set<std::string, std::less<>>;  // of packages, and modules of one file
  const Names& InstalledIn(std::string_view folder);

  std::mutex mutex_;
  std::map<std::string, Names, std::less<>> folders_;
};

}  // namespace memprof::analysis
