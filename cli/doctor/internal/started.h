// Starts small programs of the machine, and never waits longer than a limit.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace memprof::cli::doctor {

inline constexpr int kLongestSeconds = 10;

struct Started {
  bool ended = false;    // by itself, in time
  int status = 127;      // exit status; 128 + n after signal n
  std::string out, err;  // at most 1 MiB each
};

// `arguments[0]` is a path. The program has no input, and its process group is killed after
// `seconds`.
Started Start(const std::vector<std::string>& arguments,
              const std::map<std::string, std::string>& added, int seconds);

}  // namespace memprof::cli::doctor
